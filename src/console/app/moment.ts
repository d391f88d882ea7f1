/** The selected moment of the past. It is part of the address, and views that support it show the state at that moment. */
import { computed, signal } from '@preact/signals';
import { viewNamed } from './registered-views.ts';
import { route, setParams } from './router.ts';

/** Whether the time bar is shown in the present too. */
export const timeBarOpen = signal(false);

/** The moment of the address in milliseconds; undefined for the present. */
export const chosenMs = computed(() => {
  const atMs = Date.parse(route.value.params.get('at') ?? '');
  return Number.isNaN(atMs) ? undefined : atMs;
});

/** Whether the current view can show the past. */
export const hasPast = computed(() => viewNamed(route.value.view)?.hasPast === true);

/** The moment that the current view shows; undefined for the present. */
export const momentMs = computed(() => (hasPast.value ? chosenMs.value : undefined));

/** Selects a moment; undefined returns to the present. */
export function setMoment(atMs: number | undefined): void {
  setParams({ at: atMs === undefined ? '' : new Date(atMs).toISOString() });
}
