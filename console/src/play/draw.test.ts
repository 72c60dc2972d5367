import { describe, expect, it } from 'vitest';
import { along, cells, tokens, turns } from './draw';
import { STRIP } from './events';
import { draw, edges, place, type Palette } from './strip';

describe('cells', () => {
  it('fill the row exactly, and as many are used as units are', () => {
    for (const amount of [1, 2, 10, 24]) {
      const row = cells(amount, 3, 10, 310);
      const last = row.at(-1)!;
      expect(row[0]!.x).toBe(10);
      expect(last.x + last.width).toBeCloseTo(310, 9);
      expect(row.filter((cell) => cell.used).length).toBe(Math.min(3, amount));
    }
  });
});

describe('a part along a span', () => {
  it('stays within it', () => {
    expect(along(5, 10, 0, 100)).toBe(50);
    expect(along(-1, 10, 20, 100)).toBe(20);
    expect(along(11, 10, 20, 100)).toBe(100);
    expect(along(1, 0, 20, 100)).toBe(20);
  });
});

describe('tokens', () => {
  it('lie within their vessel, and the last one is partly there', () => {
    const box = { x: 10, y: 20, width: 100, height: 60 };
    for (const burst of [1, 7, 10, 24]) {
      const all = tokens(burst, 2.25, box);
      expect(all.length).toBe(burst);
      for (const token of all) {
        expect(token.x - token.r).toBeGreaterThanOrEqual(box.x);
        expect(token.x + token.r).toBeLessThanOrEqual(box.x + box.width);
        expect(token.y - token.r).toBeGreaterThanOrEqual(box.y);
        expect(token.y + token.r).toBeLessThanOrEqual(box.y + box.height);
      }
    }
    expect(tokens(4, 2.25, box).map((token) => token.filled)).toEqual([1, 1, 0.25, 0]);
  });
});

describe('a queue', () => {
  it('tells how long each waits', () => {
    // Three were taken at 100, one a second: the first has passed, the others pass at 101 and 102.
    expect(turns(2, 103, 1, 100, 9)).toEqual([1, 2]);
    expect(turns(2, 103, 1, 100.75, 9)).toEqual([0.25, 1.25]);
    expect(turns(0, 103, 1, 103, 9)).toEqual([]);
    expect(turns(1e9, 1e9, 1, 0, 3)).toEqual([0, 1, 2]);
  });
});

describe('a strip', () => {
  it('ends now and begins with its length', () => {
    expect(place(100, 100, 300)).toBe(300);
    expect(place(100 - STRIP, 100, 300)).toBe(0);
    expect(place(100 - STRIP / 2, 100, 300)).toBe(150);
  });

  it('shows the edges of the clock, and not too many', () => {
    expect(edges(105, 10)).toEqual([90, 100]);
    expect(edges(100, 10)).toEqual([80, 90, 100]);
    expect(edges(100, 0.001).length).toBeLessThanOrEqual(STRIP);
  });

  it('draws each kind by a shape of its own, and nothing that is over', () => {
    const calls: string[] = [];
    const context = new Proxy({} as CanvasRenderingContext2D, {
      get: (_, name) => () => calls.push(String(name)),
      set: () => true,
    });
    const colours = { allowed: 'a', refused: 'r', delayed: 'd', faint: 'f' } satisfies Palette;
    const of = (kind: 'allowed' | 'refused' | 'delayed', at = 95) => [{ kind, at, cost: 1 }];
    const drawn = (events: Parameters<typeof draw>[2]) => {
      calls.length = 0;
      draw(context, { width: 300, height: 60 }, events, 100, 1000, colours);
      return [
        calls.filter((name) => name === 'arc').length,
        calls.filter((name) => name === 'lineTo').length,
      ];
    };
    expect(drawn([])).toEqual([0, 0]);
    expect(drawn(of('allowed'))).toEqual([1, 0]);
    expect(drawn(of('refused'))).toEqual([0, 2]);
    expect(drawn(of('delayed'))).toEqual([1, 2]);
    expect(drawn(of('allowed', 100 - STRIP - 1))).toEqual([0, 0]);
  });
});
