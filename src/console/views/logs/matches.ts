/** Scrolls from one search match to the next. */
import type { Signal } from '@preact/signals';
import type { Reading } from './log-pane.tsx';
import { ROW_HEIGHT } from './log-row.tsx';
import type { LogStore } from './log-store.ts';
import { firstAtLeast } from './search.ts';

/** The number of rows shown above the match. */
const ABOVE = 5;

interface Step {
  readonly current: Signal<number>;
  readonly reading: Signal<Reading>;
  readonly by: 1 | -1;
}

/** Scrolls to the next or previous match; at first to the newest. */
export function stepToMatch({ search: { matches } }: LogStore, { current, reading, by }: Step): void {
  if (matches.length === 0) return;
  const here = current.peek();
  const at = firstAtLeast(matches, here);
  const isHere = matches[at] === here;
  const next = here < 0 ? matches.length - 1 : by === 1 ? at + (isHere ? 1 : 0) : at - 1;
  const number = matches[(next + matches.length) % matches.length]!;
  current.value = number;
  reading.value = { follow: false, number, offset: -ABOVE * ROW_HEIGHT };
}
