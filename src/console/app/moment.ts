/** The moment that is looked at: it stands in the address, and every view that can shows what was so then. */
import { computed } from '@preact/signals';
import { viewNamed } from './registered-views.ts';
import { route, setParams } from './router.ts';

/** The moment of the address, in milliseconds; undefined: the present. */
export const chosenMs = computed(() => {
  const atMs = Date.parse(route.value.params.get('at') ?? '');
  return Number.isNaN(atMs) ? undefined : atMs;
});

/** Whether the present view can be moved back. */
export const hasPast = computed(() => viewNamed(route.value.view)?.hasPast === true);

/** The moment that the present view shows; undefined: the present. */
export const momentMs = computed(() => (hasPast.value ? chosenMs.value : undefined));

/** Goes to a moment; undefined: back to the present. */
export function setMoment(atMs: number | undefined): void {
  setParams({ at: atMs === undefined ? '' : new Date(atMs).toISOString() });
}
