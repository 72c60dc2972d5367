// One pane of the chart as uPlot draws it: curves over 15 minutes, in the colours of the theme.
//
// Invariant: colours are asked for at each drawing, so a chart that is drawn again has those of now.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { rate } from '../lib/format';
import { colour } from '../lib/theme.svelte';
import { ceiling } from './chart';
import { KINDS, LOOKS, type Kind } from './kinds';
import { KEPT } from './ring';

/** Room for the figures of the axis at the left, in pixels: the same for all, so that nothing moves. */
const LEFT = 52;

/** Steps of the scale at the left: 0.5, 1, 2, 5, 10 and so on. */
const INCREASES = [0.5, ...Array.from({ length: 10 }, (_, i) => [1, 2, 5].map((n) => n * 10 ** i)).flat()];

/** Made once: to make one takes longer than all else that is drawn. */
const minute = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

/** What changes from drawing to drawing. */
export interface Frame {
  /** The right end of the time that is shown. */
  newest: number;
  paint: Record<string, string>;
}

export function paint(): Record<string, string> {
  const names = ['ink-2', 'line', 'paper', ...KINDS.map((kind) => LOOKS[kind].token)];
  return Object.fromEntries(names.map((name) => [name, colour(name)]));
}

/** A pane of these kinds in this element; `oncursor` is told which point is looked at. */
export function draw(
  into: HTMLElement,
  kinds: readonly Kind[],
  frame: Frame,
  hasTime: boolean,
  oncursor: (at: number | null) => void,
): uPlot {
  const of = (name: string) => () => frame.paint[name] ?? '';
  const font = `500 12px ${colour('sans')}`;
  const axis = { stroke: of('ink-2'), font, ticks: { show: false } };
  const lines = kinds.map((kind) => {
    const { word, token, dash } = LOOKS[kind];
    return {
      label: word,
      stroke: of(token),
      width: kind === 'allowed' ? 1.6 : 1.9,
      dash,
      cap: 'butt' as const,
      points: { show: false },
      ...(kind === 'allowed' && { fill: () => `color-mix(in srgb, ${frame.paint[token]} 11%, transparent)` }),
    };
  });
  return new uPlot(
    {
      width: into.clientWidth,
      height: into.clientHeight,
      padding: [8, 18, hasTime ? 0 : 8, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: false, y: false },
        points: {
          size: 7,
          width: 1.5,
          stroke: of('paper'),
          fill: (_, i) => frame.paint[LOOKS[kinds[i - 1] ?? 'allowed'].token] ?? '',
        },
      },
      scales: {
        x: { time: true, range: () => [frame.newest - KEPT, frame.newest] },
        y: { range: (_, __, most) => [0, ceiling(most)] },
      },
      series: [{}, ...lines],
      axes: [
        {
          ...axis,
          show: hasTime,
          size: 30,
          gap: 8,
          space: 64,
          incrs: [60, 120, 180, 300],
          values: (_, moments) => moments.map((at) => minute.format(at * 1000)),
          grid: { show: false },
        },
        {
          ...axis,
          size: LEFT,
          gap: 10,
          space: 30,
          incrs: INCREASES,
          values: (_, values) => values.map(rate),
          grid: { stroke: of('line'), width: 1 },
        },
      ],
      hooks: { setCursor: [(plot) => oncursor(plot.cursor.idx ?? null)] },
    },
    [[], ...kinds.map(() => [])] as unknown as uPlot.AlignedData,
    into,
  );
}
