/** The page's colours for drawing on a canvas. */
import type { Tone } from '../../parts/tone.ts';

export interface Palette {
  readonly strong: Readonly<Record<Tone, string>>;
  readonly soft: Readonly<Record<Tone, string>>;
  readonly surface: string;
  readonly line: string;
  readonly text: string;
  readonly dim: string;
  readonly focus: string;
  readonly cpu: string;
  readonly memory: string;
  readonly font: string;
}

export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const read = (name: string): string => style.getPropertyValue(name).trim();
  return {
    strong: {
      good: read('--series-3'),
      busy: read('--series-5'),
      bad: read('--series-2'),
      done: read('--done'),
      plain: read('--series-6'),
    },
    soft: {
      good: read('--good-fill'),
      busy: read('--busy-fill'),
      bad: read('--bad-fill'),
      done: read('--done-fill'),
      plain: read('--hover'),
    },
    surface: read('--surface'),
    line: read('--line'),
    text: read('--text'),
    dim: read('--dim'),
    focus: read('--focus'),
    cpu: read('--series-1'),
    memory: read('--series-4'),
    font: read('--font'),
  };
}
