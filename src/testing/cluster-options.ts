/** The options of a cluster: their validation, and the clock and the store that they select. */
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
import { type Entry, writeAll } from './snapshot.ts';
import type { SimNodeSpec } from './sim-node-spec.ts';

/** The options of `Cluster.start`. */
export interface ClusterOptions {
  /** Machines: their number, or their specifications. Default 1. */
  readonly nodes?: number | readonly Partial<SimNodeSpec>[];
  /** Upstream's names of the controllers to run; default all, `[]` for none. */
  readonly controllers?: readonly string[];
  /** Default true. */
  readonly scheduler?: boolean;
  /** The content of the file for `--scheduler-config`: a KubeSchedulerConfiguration or a Policy, in YAML. */
  readonly schedulerConfig?: string | undefined;
  /** `virtual`: time advances only while the test waits, straight to the next timer. Default virtual. */
  readonly clock?: 'real' | 'virtual';
  /** Where virtual time starts. Default 2026-01-01T00:00:00Z. */
  readonly startAt?: string | number;
  /** The seed of all randomness. Default 1 on virtual time; on real time, a new one at each start. */
  readonly seed?: number | string;
  /**
   * `memory` (default), or a function that opens a store, which the cluster closes. `restore` and `fork` call it again: each
   * store must be empty.
   */
  readonly store?: 'memory' | ((clock: Clock) => Promise<Store> | Store);
  /** Creates the log of objects' history, which the cluster closes. Default: no history is recorded. */
  readonly history?: ((clock: Clock) => HistoryLog) | undefined;
  /** Certificates and keys for `listen` and for tokens, to be reused by later clusters. Default: created when they are needed. */
  readonly pki?: ClusterPki;
  /**
   * Warns a test that sleeps in real time while the virtual clock stands. Default true. Scenarios set it to false, because they
   * contain no code.
   */
  readonly sleepHint?: boolean;
  readonly images?: readonly SimImage[];
  /**
   * The behavior of images without a description: containers that run for ever (`run`, the default), or a failed pull (`refuse`).
   */
  readonly unknownImages?: 'run' | 'refuse';
  /**
   * The machines belong to a cloud: nodes whose machine was terminated are deleted, those of machines without power tainted.
   * Default false.
   */
  readonly cloud?: boolean;
  /** The API server's `--runtime-config`: versions to serve beside those served by default. */
  readonly runtimeConfig?: string;
  /** Whether ports of the cluster serve the console. Default true. */
  readonly console?: boolean | undefined;
  /** Paths that the API server serves beside its own. */
  readonly routes?: readonly NonResourceRoute[] | undefined;
  /** Receives the log lines of all components. Default: they are kept in memory and not printed. */
  readonly log?: Log;
  /** Keeps a line for every change of the store, for `eventLog()`. */
  readonly keepEventLog?: boolean;
  /**
   * The field validation of `apply`, and of calls of `client` that do not set it. Default Strict: unknown fields are refused.
   * Clients on a port of `listen()` set their own.
   */
  readonly fieldValidation?: WriteOptions['fieldValidation'];
}

/** The fields of `ClusterOptions` with their shapes. Exported for the test of their documentation. */
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

/** Throws for invalid options, which would otherwise fail later with a less clear error. */
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

/**
 * The clock, and how the test waits on it; in real time, the event loop that the cluster shares with the rest of this process.
 */
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

/**
 * The number of old revisions that are kept, at most twice as many. No reader needs older ones; those of 50,000 pods would take
 * gigabytes.
 */
const KEPT_CHANGES = 5_000;

/** Opens the store that the options select and writes the entries into it. */
export async function openStore(
  { store = 'memory' }: ClusterOptions,
  clock: Clock,
  entries: readonly Entry[] = [],
): Promise<Store> {
  if (store === 'memory') return createMemoryStore({ clock, keepChanges: KEPT_CHANGES, entries });
  const opened = await store(clock);
  await writeAll(opened, entries);
  return opened;
}
