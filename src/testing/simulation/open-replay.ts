/**
 * Opens a scenario's run for inspection: repeats it with the history of every object, leaves its cluster at the moment at which
 * the run ended, and opens a port for the console. Time stands; it can be stepped and run on, and machines can be broken by hand.
 */
import type { NonResourceRoute } from '../../apiserver/non-resource-routes.ts';
import { loadCertificateLibrary } from '../../component-helpers/pki/certificates.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { createSqliteHistory } from '../../storage/sqlite/history/sqlite-history.ts';
import type { Cluster } from '../cluster.ts';
import type { RunMark } from '../run-marks.ts';
import { type EndedRun, playScenario, ScenarioError } from '../scenario-run.ts';
import type { Scenario } from '../scenario.ts';
import { type ReplayedRun, replayRoute } from './replay-route.ts';
import { RunningClock } from './running-clock.ts';
import { simulationRoutes } from './simulation-route.ts';

/** The whole run is kept, however much virtual time it takes. */
const HISTORY_LIMITS = { sizeBytes: 512 * 1024 * 1024, ageMs: 100 * 365 * 86_400_000 };

export interface OpenReplayDeps {
  /** The clock of real time. */
  readonly clock: Clock;
  readonly log: Log;
  /** The address on which the console listens. Default 127.0.0.1. */
  readonly host?: string;
  /** Routes of the console's server besides those of the run. */
  readonly routes?: readonly NonResourceRoute[];
}

/** The seed for recorded scenarios, which have none. */
const DEFAULT_SEED = 1;

export function seedOf({ seed }: Scenario): number {
  return seed ?? DEFAULT_SEED;
}

/** A run that has ended, with its cluster, which serves the console. */
export interface OpenReplay extends AsyncDisposable {
  readonly cluster: Cluster;
  readonly outcome: EndedRun['outcome'];
  readonly failure: ScenarioError | undefined;
  /** The run left its API server down, so it was started again for requests. */
  readonly serverWasDown: boolean;
}

/** Rejects with a `ScenarioError` when the cluster cannot be started. */
export async function openReplay(scenario: Scenario, seed: number, deps: OpenReplayDeps): Promise<OpenReplay> {
  const { log } = deps;
  await loadCertificateLibrary(); // loading it later would hold virtual time
  const marks: RunMark[] = [];
  const ran: { ended?: ReplayedRun & { readonly cluster: Cluster } } = {};
  const moved = { advance: async (ms: number): Promise<void> => await ran.ended?.cluster.advance(ms) };
  const clock = new RunningClock({ moved, real: deps.clock, log }, 1);
  const { cluster, outcome } = await playScenario(scenario, seed, {
    onMark: (mark) => void marks.push(mark),
    cluster: {
      history: (virtual) => createSqliteHistory({ path: ':memory:', limits: HISTORY_LIMITS, clock: virtual, log }),
      routes: [
        ...simulationRoutes({ cluster: () => ran.ended?.cluster, clock }),
        replayRoute(() => ran.ended),
        ...(deps.routes ?? []),
      ],
    },
  });
  const failure = 'cause' in outcome ? new ScenarioError(scenario, { ...outcome, seed }) : undefined;
  if (cluster === undefined) throw failure!;
  const serverWasDown = !cluster.isServed;
  if (serverWasDown) await cluster.faults.start('apiserver');
  ran.ended = { name: scenario.name, about: scenario.about, seed, marks, failure: failure?.message, cluster };
  await cluster.listen({ host: deps.host ?? '127.0.0.1', timeRuns: true, leaveCluster: true });
  await clock.pause();
  const running = clock.start();
  return {
    cluster,
    outcome,
    failure,
    serverWasDown,
    async [Symbol.asyncDispose]() {
      clock.stop();
      await running;
      await cluster.stop();
    },
  };
}
