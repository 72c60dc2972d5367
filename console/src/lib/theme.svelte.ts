// Light or dark: what the system says, unless whoever looks has chosen.
const KEY = 'ratekeeper-theme';
const system = window.matchMedia('(prefers-color-scheme: dark)');

type Theme = 'light' | 'dark';

function chosen(): Theme | null {
  const kept = localStorage.getItem(KEY);
  return kept === 'light' || kept === 'dark' ? kept : null;
}

class Look {
  theme = $state<Theme>('light');

  constructor() {
    this.follow();
    system.addEventListener('change', () => this.follow());
  }

  private follow(): void {
    this.theme = chosen() ?? (system.matches ? 'dark' : 'light');
    document.documentElement.dataset['theme'] = this.theme;
  }

  toggle(): void {
    localStorage.setItem(KEY, this.theme === 'dark' ? 'light' : 'dark');
    this.follow();
  }
}

export const look = new Look();

/** Whether things should move as little as they can. */
export const still = window.matchMedia('(prefers-reduced-motion: reduce)');

/** The value of one of the colours, for what is drawn on a canvas. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
