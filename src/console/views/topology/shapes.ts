/** The shapes of states, which are readable without colours: paths on a grid of 16. */
import type { Tone } from '../../parts/tone.ts';

/** Paths in SVG's syntax. */
export const SHAPES: Readonly<Record<Tone, string>> = {
  good: 'M3 0H13A3 3 0 0 1 16 3V13A3 3 0 0 1 13 16H3A3 3 0 0 1 0 13V3A3 3 0 0 1 3 0Z',
  busy: 'M8 0A8 8 0 0 1 8 16A8 8 0 0 1 8 0Z',
  bad: 'M8 0 16 16H0Z',
  done: 'M4 4H12V12H4Z',
  plain: 'M8 0 16 8 8 16 0 8Z',
};

export const TONES: readonly Tone[] = ['good', 'busy', 'bad', 'done', 'plain'];
