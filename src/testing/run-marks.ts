/** The moments of a scenario's run: the begin of each step, notes about it, and the end of the run. */

/** A moment of the run: the store's revision and both clocks. */
export interface RunMoment {
  readonly revision: number;
  readonly nowMs: number;
  readonly monotonicMs: number;
}

export interface RunMark extends RunMoment {
  /** The index of the step, from 0. */
  readonly step: number;
  readonly kind: 'step' | 'note' | 'failed' | 'passed';
  readonly text: string;
}

/** A mark's text in the timeline and the console. */
export function markText({ kind, text }: RunMark): string {
  return kind === 'step' || kind === 'passed' ? text : `${kind}: ${text}`;
}
