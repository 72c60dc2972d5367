// Light or dark: what the system says, unless whoever looks has chosen.
const KEY = 'ratekeeper-theme';
const system = window.matchMedia('(prefers-color-scheme: dark)');

type Theme = 'light' | 'dark';

/** What was chosen; a browser that keeps nothing has its choice as long as the page is open. */
let chosen: string | null = null;
try {
  chosen = localStorage.getItem(KEY);
} catch {
  // Then the system says.
}

class Look {
  theme = $state<Theme>('light');

  constructor() {
    this.follow();
    system.addEventListener('change', () => this.follow());
  }

  private follow(): void {
    this.theme = chosen === 'light' || chosen === 'dark' ? chosen : system.matches ? 'dark' : 'light';
    document.documentElement.dataset['theme'] = this.theme;
  }

  toggle(): void {
    chosen = this.theme === 'dark' ? 'light' : 'dark';
    this.follow();
    try {
      localStorage.setItem(KEY, chosen);
    } catch {
      // It is not kept, then.
    }
  }
}

export const look = new Look();

/** Whether things should move as little as they can. */
export const still = window.matchMedia('(prefers-reduced-motion: reduce)');

/** The value of one of the colours, for what is drawn on a canvas. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
