/** Ages that go on: one timer for all of them. */
import { computed, signal } from '@preact/signals';
import { humanDuration } from '../../api/age.ts';
import { momentMs } from '../app/moment.ts';
import { presentNow } from '../app/simulation.ts';

const presentMs = signal(presentNow());

/** The moment that is looked at. */
export const nowMs = computed(() => momentMs.value ?? presentMs.value);

setInterval(() => {
  if (!document.hidden) presentMs.value = presentNow();
}, 1000);

/** The age of what was made then, as kubectl tells it. */
export function Age({ sinceMs }: { readonly sinceMs: number }) {
  if (sinceMs === 0 || Number.isNaN(sinceMs)) return null;
  return (
    <time dateTime={new Date(sinceMs).toISOString()} title={new Date(sinceMs).toLocaleString()}>
      {humanDuration(Math.max(0, nowMs.value - sinceMs))}
    </time>
  );
}
