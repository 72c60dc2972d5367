// Curves: how they are grouped, where they have holes, and where keys lead.
import { describe, expect, it } from 'vitest';
import { aim, ceiling, curves, nearest, step } from './chart';
import { Ring } from './ring';
import { areas, points } from './spark';

const counts = (allowed: number, refused = 0) => ({ allowed, refused, delayed: 0, shadow_refused: 0 });

function ringOf(entries: [at: number, allowed: number, refused?: number][]): Ring {
  const ring = new Ring();
  for (const [at, allowed, refused] of entries)
    ring.add(at, 1, [{ rule: 'api', ...counts(allowed, refused) }]);
  return ring;
}

describe('step', () => {
  it('is longer the narrower the chart is', () => {
    expect([step(2025), step(2024), step(810), step(809), step(405), step(404), step(0)]).toEqual([
      2, 5, 5, 10, 10, 15, 30,
    ]);
  });
});

describe('curves', () => {
  it('are means over groups that begin at multiples', () => {
    const ring = ringOf([
      [104, 8],
      [105, 10],
      [106, 20],
      [109, 30],
      [110, 1],
    ]);
    const [at, allowed] = curves(ring, ring.all, 5);
    expect(at).toEqual([104, 107, 110]);
    expect(allowed).toEqual([8, 20, 1]);
  });

  it('keep their shape when time goes on', () => {
    const ring = ringOf([
      [105, 10],
      [107, 20],
      [110, 3],
    ]);
    const before = curves(ring, ring.all, 5)[1]?.[0];
    ring.add(111, 1, [{ rule: 'api', ...counts(5) }]);
    const [, allowed] = curves(ring, ring.all, 5);
    expect(allowed).toEqual([before, 4]);
  });

  it('have a hole where a whole group is not known, and none where one is short', () => {
    const near = ringOf([
      [100, 1],
      [109, 1],
    ]);
    expect(curves(near, near.all, 5)[1]).toEqual([1, 1]);
    const far = ringOf([
      [100, 1],
      [110, 1],
    ]);
    const [at, allowed] = curves(far, far.all, 5);
    expect(allowed).toEqual([1, null, 1]);
    expect(at).toEqual([100, 107.5, 110]);
  });

  it('of a rule that did nothing are 0, and of no time are nothing', () => {
    const ring = ringOf([[100, 1]]);
    expect(curves(ring, undefined, 5)).toEqual([[100], [0], [0], [0], [0]]);
    expect(curves(new Ring(), undefined, 5)).toEqual([[], [], [], [], []]);
  });
});

describe('nearest', () => {
  it('finds the point next to a moment, if one is within a step', () => {
    expect(nearest([100, 105, 110], 107, 5)).toBe(1);
    expect(nearest([100, 105, 110], 108, 5)).toBe(2);
    expect(nearest([100, 105], 95, 5)).toBe(0);
    expect(nearest([100, 105], 94.9, 5)).toBe(null);
    expect(nearest([], 94.9, 5)).toBe(null);
  });
});

describe('ceiling', () => {
  it('has air, and is never below 1', () => {
    expect([ceiling(100), ceiling(0.5), ceiling(0), ceiling(null)]).toEqual([108, 1, 1, 1]);
  });
});

describe('aim', () => {
  it('leads to the neighbours, and beyond the newest to now', () => {
    expect(aim('ArrowLeft', null, 10, 12)).toBe(9);
    expect(aim('ArrowLeft', 0, 10, 12)).toBe(0);
    expect(aim('ArrowRight', 8, 10, 12)).toBe(9);
    expect(aim('ArrowRight', 9, 10, 12)).toBe(null);
    expect(aim('PageDown', 5, 10, 12)).toBe(0);
    expect(aim('Home', null, 10, 12)).toBe(0);
    expect(aim('Escape', 3, 10, 12)).toBe(null);
  });

  it('leaves other keys alone, and all of them if there is nothing', () => {
    expect(aim('Tab', 3, 10, 12)).toBeUndefined();
    expect(aim('Home', null, 0, 12)).toBeUndefined();
  });
});

describe('a spark', () => {
  it('always has 60 points, the newest last', () => {
    const ring = ringOf([
      [900 - 15, 7],
      [900, 10, 20],
      [914, 20, 0],
    ]);
    const all = points(ring, ring.all);
    expect(all.length).toBe(60);
    expect(all.at(-1)).toEqual({ allowed: 15, refused: 10 });
    expect(all.at(-2)).toEqual({ allowed: 7, refused: 0 });
    expect(all.at(-3)).toEqual({ allowed: 0, refused: 0 });
  });

  it('stacks what was refused upon what was allowed, within the box', () => {
    const drawn = areas(
      [
        { allowed: 5, refused: 5 },
        { allowed: 5, refused: 0 },
      ],
      10,
      21,
    );
    expect(drawn.allowed).toBe('M0 21L0.0 11.0L10.0 11.0L10 21Z');
    expect(drawn.refused).toBe('M0.0 1.0L10.0 11.0L10.0 11.0L0.0 11.0Z');
  });

  it('draws nothing of nothing, and no refusals where there are none', () => {
    expect(areas([counts(0), counts(0)], 10, 21)).toEqual({ allowed: '', refused: '' });
    expect(areas([counts(1), counts(1)], 10, 21).refused).toBe('');
  });
});
