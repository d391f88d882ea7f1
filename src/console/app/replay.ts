/** The run of a scenario that this simulation has repeated: its steps with their moments, and its failure. */
import { signal } from '@preact/signals';
import { sendJson } from '../api/http.ts';
import { untilAnswered } from '../api/patience.ts';
import { timeBarOpen } from './moment.ts';

export const REPLAY_PATH = '/keelson/v1/simulation/replay';

export interface ReplayMark {
  /** The number of the step, counted from 1. */
  readonly step: number;
  readonly kind: 'step' | 'note' | 'failed' | 'passed';
  readonly text: string;
  readonly at: string;
  readonly afterMs: number;
}

interface Replay {
  readonly name: string;
  readonly about?: string;
  readonly seed: number;
  readonly marks: readonly ReplayMark[];
  /** Absent when the run passed. */
  readonly failure?: string;
}

/** Undefined when this cluster is no replay, or the user may not read it. */
export const replay = signal<Replay | undefined>(undefined);

/** Reads the run and shows the time bar. */
export async function loadReplay(life: AbortSignal): Promise<void> {
  const found = await untilAnswered(() => sendJson<Replay>(REPLAY_PATH, { signal: life }), life);
  if (found === undefined || life.aborted) return;
  replay.value = found;
  timeBarOpen.value = true;
}
