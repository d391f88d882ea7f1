/** Terminal phases of pods. Upstream: IsPodPhaseTerminal (pkg/api/v1/pod). */

/** Whether the phase is final: no container of the pod is started again. */
export function isPodPhaseTerminal(phase: string | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}
