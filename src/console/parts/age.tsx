/** Ages that are updated by one timer. */
import { computed, signal } from '@preact/signals';
import { humanDuration } from '../../api/age.ts';
import { momentMs } from '../app/moment.ts';
import { presentNow } from '../app/simulation.ts';

const presentMs = signal(presentNow());

/** The selected moment, or the present. */
export const nowMs = computed(() => momentMs.value ?? presentMs.value);

setInterval(() => {
  if (!document.hidden) presentMs.value = presentNow();
}, 1000);

/** The age of an object created at that time, in kubectl's format. */
export function Age({ sinceMs }: { readonly sinceMs: number }) {
  if (sinceMs === 0 || Number.isNaN(sinceMs)) return null;
  return (
    <time dateTime={new Date(sinceMs).toISOString()} title={new Date(sinceMs).toLocaleString()}>
      {humanDuration(Math.max(0, nowMs.value - sinceMs))}
    </time>
  );
}
