/** How a cluster is started: what may be said, what is refused, and the clock and the store that come of it. */
import { parseTime } from '../api/time.ts';
import { didYouMean } from '../base/nearest-name.ts';
import type { WriteOptions } from '../client/client.ts';
import type { NonResourceRoute } from '../apiserver/non-resource-routes.ts';
import type { ClusterPki } from '../component-helpers/pki/cluster-pki.ts';
import { controllers as knownControllers } from '../controllers/list.ts';
import type { SimImage } from '../cri/sim/sim-image.ts';
import type { Clock } from '../platform/clock.ts';
import type { EventLoop } from '../platform/event-loop.ts';
import type { Log } from '../platform/log.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import type { HistoryLog } from '../storage/history-log.ts';
import { createMemoryStore } from '../storage/memory/memory-store.ts';
import type { Store } from '../storage/store.ts';
import { checkShape, image } from './option-shapes.ts';
import { createRealPace, createVirtualPace, type Pace } from './pace.ts';
import { plainNodeFields } from './scenario-fields.ts';
import {
  anyText,
  anything,
  fields,
  flag,
  listOf,
  listOr,
  oneOf,
  plainNumber,
  type Shape,
  text,
} from './scenario-shape.ts';
import type { SimNodeSpec } from './sim-node-spec.ts';

/** How a cluster is started. */
export interface ClusterOptions {
  /** Machines: how many, or what kind. Default 1. */
  readonly nodes?: number | readonly Partial<SimNodeSpec>[];
  /** Upstream's names of the controllers to run; default all, `[]` none. */
  readonly controllers?: readonly string[];
  /** Default true. */
  readonly scheduler?: boolean;
  /** As the file of `--scheduler-config`: a KubeSchedulerConfiguration or a Policy, in YAML. */
  readonly schedulerConfig?: string | undefined;
  /** `virtual`: time moves only while the test waits, straight to the next thing to happen. Default virtual. */
  readonly clock?: 'real' | 'virtual';
  /** Where virtual time starts. Default 2026-01-01T00:00:00Z. */
  readonly startAt?: string | number;
  /** The seed of all randomness. Default 1 on virtual time; on real time, another at each start. */
  readonly seed?: number | string;
  /** `memory` (default), or a store of your own, which the cluster closes. Called again by `restore` and `fork`: each must be empty. */
  readonly store?: 'memory' | ((clock: Clock) => Promise<Store> | Store);
  /** Makes the keeper of objects' history, which the cluster closes. Default: no history is kept. */
  readonly history?: ((clock: Clock) => HistoryLog) | undefined;
  /** Certificates and keys for `listen` and for tokens, to keep them over restarts. Default: made when they are needed. */
  readonly pki?: ClusterPki;
  /** Warns a test that sleeps really while the virtual clock stands. Default true; a scenario has no code that could sleep. */
  readonly sleepHint?: boolean;
  readonly images?: readonly SimImage[];
  /** Images nobody described: containers that run for ever (`run`, the default), or a failed pull (`refuse`). */
  readonly unknownImages?: 'run' | 'refuse';
  /**
   * The machines are a cloud's: nodes whose machine was terminated are deleted, those of machines without power tainted.
   * Default false.
   */
  readonly cloud?: boolean;
  /** As the API server's `--runtime-config`: versions to serve beside those served by default. */
  readonly runtimeConfig?: string;
  /** Whether ports of the cluster serve the console in the browser. Default true. */
  readonly console?: boolean | undefined;
  /** Paths that the API server serves beside its own. */
  readonly routes?: readonly NonResourceRoute[] | undefined;
  /** Where the lines of all components go. Default: they are kept in memory, and seen nowhere. */
  readonly log?: Log;
  /** Keeps a line for every change of the store, for `eventLog()`. */
  readonly keepEventLog?: boolean;
  /**
   * What becomes of fields that a kind does not have, in `apply` and in calls of `client` that do not say so themselves.
   * Default Strict: they are refused. Clients on a port of `listen()` say it for themselves, as anywhere.
   */
  readonly fieldValidation?: WriteOptions['fieldValidation'];
}

/** Its fields, by name. Exported for the test of their documentation. */
export const CLUSTER_FIELDS: Readonly<Record<keyof ClusterOptions, Shape>> = {
  nodes: listOr(listOf(fields(plainNodeFields)), plainNumber),
  controllers: listOf(text),
  scheduler: flag,
  schedulerConfig: text,
  clock: oneOf('virtual', 'real'),
  startAt: anything,
  seed: anything,
  store: anything,
  history: anything,
  pki: anything,
  sleepHint: flag,
  images: listOf(anything),
  unknownImages: oneOf('run', 'refuse'),
  cloud: flag,
  runtimeConfig: anyText,
  log: anything,
  keepEventLog: flag,
  console: flag,
  routes: anything,
  fieldValidation: oneOf('Strict', 'Warn', 'Ignore'),
};

/** What would fail later, elsewhere, and less clearly. */
export function checkOptions(options: ClusterOptions): void {
  checkShape('Cluster.start', fields(CLUSTER_FIELDS), options);
  const { controllers = [], nodes = 1, startAt = 0, images = [] } = options;
  const unknown = controllers.filter((name) => !Object.hasOwn(knownControllers, name));
  if (unknown.length > 0)
    throw new RangeError(
      `controllers: ${unknown.join(', ')} unknown${didYouMean(unknown[0] ?? '', Object.keys(knownControllers))}; there are ${Object.keys(knownControllers).join(', ')}`,
    );
  if (typeof nodes === 'number' && !(Number.isInteger(nodes) && nodes >= 0))
    throw new RangeError(`nodes: ${nodes} is no number of nodes`);
  if (Number.isNaN(typeof startAt === 'string' ? parseTime(startAt) : startAt))
    throw new RangeError(`startAt: ${startAt} is no time, as 2026-01-01T00:00:00Z is`);
  for (const spec of images) image(spec.name, spec);
}

/** The clock, and how the test waits on it; in real time, the loop that the cluster shares with all else in this process. */
export async function createPace({
  clock = 'virtual',
  startAt,
  seed,
}: ClusterOptions): Promise<{ pace: Pace; seed: number | string; eventLoop?: EventLoop }> {
  if (clock === 'virtual') {
    const startMs = typeof startAt === 'string' ? parseTime(startAt) : startAt;
    return { pace: createVirtualPace(new VirtualClock(startMs === undefined ? {} : { startMs })), seed: seed ?? 1 };
  }
  const { createNodeClock } = await import('../platform/node/clock.ts');
  const { keepAlive } = await import('../platform/node/keep-alive.ts');
  const { createNodeRandom } = await import('../platform/node/random.ts');
  const { createNodeEventLoop } = await import('../platform/node/event-loop.ts');
  const realClock = createNodeClock();
  return {
    pace: createRealPace(realClock, keepAlive),
    seed: seed ?? createNodeRandom().uuid(),
    eventLoop: createNodeEventLoop(realClock),
  };
}

/** Old revisions that are kept, at most twice as many. Nothing asks for older ones; those of 50,000 pods would fill gigabytes. */
const KEPT_CHANGES = 5_000;

/** The store of the test's choice. */
export async function openStore({ store = 'memory' }: ClusterOptions, clock: Clock): Promise<Store> {
  return store === 'memory' ? createMemoryStore({ clock, keepChanges: KEPT_CHANGES }) : store(clock);
}
