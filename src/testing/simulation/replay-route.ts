/**
 * `GET /keelson/v1/simulation/replay`: the run that a simulation repeated before its port was opened: its steps with their
 * moments, and its failure. The console marks them in its time bar. See docs/console.md.
 */
import { conflict } from '../../api/status-error.ts';
import { dateOf } from '../../api/time.ts';
import type { NonResourceRoute } from '../../apiserver/non-resource-routes.ts';
import { objectResponse } from '../../apiserver/responses.ts';
import type { RunMark } from '../run-marks.ts';
import { SIMULATION_PATH } from './simulation-route.ts';

interface ReplayMark {
  /** The number of the step, from 1. */
  readonly step: number;
  readonly kind: RunMark['kind'];
  readonly text: string;
  readonly at: string;
  /** Virtual time since the first step. */
  readonly afterMs: number;
}

export interface Replay {
  readonly kind: 'Replay';
  readonly apiVersion: 'keelson/v1';
  readonly name: string;
  readonly about?: string | undefined;
  readonly seed: number;
  readonly marks: readonly ReplayMark[];
  /** The whole message; absent when the run passed. */
  readonly failure?: string | undefined;
}

/** A run that has ended. */
export interface ReplayedRun {
  readonly name: string;
  readonly about?: string | undefined;
  readonly seed: number;
  readonly marks: readonly RunMark[];
  readonly failure?: string | undefined;
}

/** @param ended returns undefined until the run has ended */
export function replayRoute(ended: () => ReplayedRun | undefined): NonResourceRoute {
  return {
    path: `${SIMULATION_PATH}/replay`,
    serve: ({ request }) => {
      const run = ended();
      if (run === undefined) throw conflict({ group: '', resource: 'replay' }, '', 'the run has not ended yet');
      return objectResponse(request, { object: replayOf(run) });
    },
  };
}

function replayOf({ name, about, seed, marks, failure }: ReplayedRun): Replay {
  const startMs = marks[0]?.monotonicMs ?? 0;
  return {
    kind: 'Replay',
    apiVersion: 'keelson/v1',
    name,
    about,
    seed,
    marks: marks.map(({ step, kind, text, nowMs, monotonicMs }) => ({
      step: step + 1,
      kind,
      text,
      at: dateOf(nowMs).toISOString(),
      afterMs: Math.round(monotonicMs - startMs),
    })),
    failure,
  };
}
