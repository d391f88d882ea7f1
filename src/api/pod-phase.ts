/** Upstream: IsPodPhaseTerminal (pkg/api/v1/pod). */

/** Whether a pod never leaves the phase: no container of it runs again. */
export function isPodPhaseTerminal(phase: string | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}
