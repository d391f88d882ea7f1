/** The words of scenarios: what each may be given, and what it does. */
import type { SimImageSpec } from '../cri/sim/sim-image.ts';
import type { Manifests } from './apply.ts';
import type { Cluster } from './cluster.ts';
import { type Duration, signedMs, spanMs } from './duration.ts';
import type { Part, RestartablePart } from './faults.ts';
import type { StoreFaults } from './faulty-store.ts';
import type { PodDemand } from './pod-invariants.ts';
import {
  crash,
  crashContainer,
  deleteObject,
  type DeleteStep,
  failRuntime,
  heal,
  partition,
  patchObject,
  type PatchStep,
  restart,
  start,
  stopKubelet,
  tryDrain,
} from './scenario-actions.ts';
import {
  expectNow,
  expectRest,
  expectShape,
  type StepContext,
  valueOf,
  waitFor,
  waitShape,
} from './scenario-expectations.ts';
import { imageFields, nodeFields } from './scenario-fields.ts';
import {
  anything,
  fields,
  flag,
  listOf,
  meant,
  number,
  objectOr,
  oneOf,
  type Path,
  type Shape,
  ShapeError,
  signedSpan,
  span,
  text,
  textLike,
} from './scenario-shape.ts';
import type { SimNodeSpec } from './sim-node-spec.ts';

/** A step: one word of these and what it is given. */
export type ScenarioStep = Readonly<Record<string, unknown>>;

/** A word: what it may be given, and what it does with it. */
export interface StepWord {
  readonly takes: Shape;
  run(context: StepContext, value: unknown): Promise<unknown> | void;
}

/** `takes` has checked that the value is a `T`. */
function word<T>(
  takes: Shape,
  run: (cluster: Cluster, value: T, context: StepContext) => Promise<unknown> | void,
): StepWord {
  return { takes, run: (context, value) => run(context.cluster, value as T, context) };
}

type Component = RestartablePart | `kubelet/${string}`;

const reference = textLike(/^[^/]+(\/[^/]+){1,2}$/, 'KIND/NAME or KIND/NAMESPACE/NAME');
const node = text;
const crashable = textLike(
  /^(apiserver|controllers|scheduler|(node|kubelet)\/.+)$/,
  'apiserver, controllers, scheduler, node/NAME or kubelet/NAME',
);
const component = textLike(
  /^(apiserver|controllers|scheduler|kubelet\/.+)$/,
  'apiserver, controllers, scheduler or kubelet/NAME',
);
const caller = textLike(
  /^(all|controllers|scheduler|kubelet(\/.+)?)$/,
  'all, controllers, scheduler, kubelet or kubelet/NAME',
);
const anyCaller: Shape = (value, path) => (value === null ? undefined : caller(value, path));

/** The words. To add one: a line here. */
export const steps: Readonly<Record<string, StepWord>> = {
  apply: word<Manifests>(anything, (cluster, value) => cluster.apply(value)),
  delete: word<DeleteStep | string>(
    objectOr(
      fields({ object: reference, grace: number, propagation: oneOf('Foreground', 'Background', 'Orphan') }, [
        'object',
      ]),
      reference,
    ),
    (cluster, value) => deleteObject(cluster, typeof value === 'string' ? { object: value } : value),
  ),
  patch: word<PatchStep>(
    meant(
      fields({ object: reference, merge: anything, strategic: anything, json: listOf(anything), subresource: text }, [
        'object',
      ]),
      ({ merge, strategic, json }) =>
        [merge, strategic, json].filter((one) => one !== undefined).length === 1
          ? undefined
          : 'changes nothing, or in two ways: one of merge, strategic and json is wanted',
    ),
    patchObject,
  ),
  wait: word(waitShape, waitFor),
  advance: word<Duration>(span, (cluster, value) => cluster.advance(value)),
  expect: word(expectShape, expectNow),
  remember: word<{ as: string; object: string; path: string }>(
    fields({ as: text, object: reference, path: text }, ['as', 'object', 'path']),
    async (cluster, { as, object, path }, { vars }) => void vars.set(as, await valueOf(cluster, object, path)),
  ),
  always: word<PodDemand & { name: string }>(
    meant(
      fields({ name: text, selector: text, minReady: number, maxActive: number }, ['name', 'selector']),
      ({ minReady, maxActive }) =>
        (minReady ?? maxActive) === undefined ? 'demands nothing: minReady or maxActive is missing' : undefined,
    ),
    (_, { name, ...demand }, { invariants }) => invariants.demand(name, demand),
  ),
  release: word<string>(text, (_, name, { invariants }) => invariants.release(name)),
  image: word<SimImageSpec & { name: string }>(fields({ name: text, ...imageFields }, ['name']), (cluster, value) => {
    const { name, ...spec } = value;
    cluster.image(name, spec);
  }),
  crash: word(crashable, crash),
  start: word(crashable, start),
  stop: word<string>(textLike(/^kubelet\/.+$/, 'kubelet/NAME'), stopKubelet),
  restart: word(component, restart),
  crashAfterWrites: word<{ part: Component; writes: number; down?: Duration }>(
    fields({ part: component, writes: number, down: span }, ['part', 'writes']),
    // A part that is down after an earlier crash comes back first.
    (cluster, { part: crashed, writes, down = 0 }) =>
      cluster.eventually(() => cluster.faults.crashAfterWrites(crashed, writes, spanMs(down))),
  ),
  crashContainer: word(fields({ pod: reference, container: text, code: number }, ['pod']), crashContainer),
  addNode: word<Partial<SimNodeSpec>>(fields(nodeFields, ['name']), (cluster, value) => cluster.nodes.add(value)),
  removeNode: word<string>(node, (cluster, value) => cluster.nodes.remove(value)),
  partition: word<string>(node, partition),
  heal: word<string>(node, heal),
  cordon: word<string>(node, (cluster, value) => cluster.nodes.cordon(value)),
  uncordon: word<string>(node, (cluster, value) => cluster.nodes.uncordon(value)),
  drain: word<string>(node, (cluster, value) => cluster.nodes.drain(value)),
  /** As `kubectl drain`: what a disruption budget refuses is asked for again, until nothing is left to evict. */
  tryDrain: word(fields({ node, every: span, within: span }, ['node']), tryDrain),
  disconnect: word(anyCaller, (cluster, value) => cluster.faults.disconnect(part(value))),
  reconnect: word(anyCaller, (cluster, value) => cluster.faults.reconnect(part(value))),
  dropWatches: word(anyCaller, (cluster, value) => cluster.faults.dropWatches(part(value))),
  lagWatches: word<{ part?: Part; lag: Duration }>(fields({ part: caller, lag: span }, ['lag']), (cluster, value) =>
    cluster.faults.lagWatches(spanMs(value.lag), part(value.part)),
  ),
  repeatWatches: word<{ part?: Part; rate: number }>(
    fields({ part: caller, rate: number }, ['rate']),
    (cluster, value) => cluster.faults.repeatWatches(value.rate, part(value.part)),
  ),
  skewClock: word<{ node: string; by: Duration }>(fields({ node, by: signedSpan }, ['node', 'by']), (cluster, value) =>
    cluster.nodes.skewClock(value.node, value.by),
  ),
  jumpClock: word<Duration>(signedSpan, (cluster, value) => cluster.jumpWallClock(signedMs(value))),
  fillDisk: word<{ node: string; leaveBytes?: number }>(
    fields({ node, leaveBytes: number }, ['node']),
    (cluster, value) => cluster.nodes.fillDisk(value.node, value.leaveBytes),
  ),
  freeDisk: word<string>(node, (cluster, value) => cluster.nodes.freeDisk(value)),
  failUnmounts: word<{ node: string; error?: string }>(fields({ node, error: text }, ['node']), (cluster, value) =>
    cluster.nodes.failUnmounts(value.node, value.error),
  ),
  mendUnmounts: word<string>(node, (cluster, value) => cluster.nodes.mendUnmounts(value)),
  failRuntime: word<{ node: string; call: string; error?: string }>(
    fields({ node, call: text, error: text }, ['node', 'call']),
    (cluster, value) => failRuntime(cluster, value),
  ),
  mendRuntime: word<{ node: string; call: string }>(fields({ node, call: text }, ['node', 'call']), (cluster, value) =>
    cluster.nodes.runtime(value.node).failCalls(value.call as 'runPodSandbox', undefined),
  ),
  breakRuntimeEvents: word<string>(node, (cluster, value) => cluster.nodes.runtime(value).breakEvents()),
  store: word<Partial<StoreFaults> & { latency?: Duration }>(
    fields({ latency: span, failRate: number, unknownRate: number, failNext: number, down: flag, full: flag }),
    (cluster, { latency, ...faults }) =>
      void Object.assign(cluster.faults.store, faults, latency === undefined ? {} : { latencyMs: spanMs(latency) }),
  ),
  rest: word(span, expectRest),
  repeat: word<{ times: number; every: Duration; steps: ScenarioStep[] }>(
    fields({ times: number, every: span, steps: stepList }, ['times', 'every', 'steps']),
    repeat,
  ),
};

/** A list of steps: one word each. */
export function stepList(value: unknown, path: Path): void {
  const step: Shape = (one, at) => {
    const [[name, argument] = ['', undefined], ...more] = Object.entries((one ?? {}) as object);
    const known = Object.hasOwn(steps, name) ? steps[name] : undefined;
    if (known === undefined || more.length > 0)
      throw new ShapeError(
        `is not one of the steps ${Object.keys(steps).join(', ')}`,
        name === '' ? at : [...at, more.length > 0 ? more[0]![0] : name],
      );
    known.takes(argument, [...at, name]);
  };
  listOf(step)(value, path);
}

function part(value: unknown): Part | undefined {
  return value === 'all' || value === null ? undefined : (value as Part);
}

async function repeat(
  cluster: Cluster,
  { times, every, steps: inner }: { times: number; every: Duration; steps: readonly ScenarioStep[] },
  context: StepContext,
): Promise<void> {
  for (let time = 0; time < times; time++) {
    for (const step of inner) for (const [name, value] of Object.entries(step)) await steps[name]!.run(context, value);
    await cluster.advance(every);
  }
}
