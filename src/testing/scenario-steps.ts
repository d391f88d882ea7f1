/** The words of scenarios. To add one: a line in `steps`. Every word checks what it is given and throws what is wrong. */
import { Pods } from '../api/gen/resources.ts';
import type { Pod } from '../api/gen/core-v1.ts';
import type { KubernetesObject } from '../api/object.ts';
import { isReason } from '../api/status-error.ts';
import { parseLabelSelector } from '../api/label-selector-parser.ts';
import type { Patch } from '../client/client.ts';
import { image, type SimImageSpec } from '../cri/sim/sim-image.ts';
import type { Random } from '../platform/random.ts';
import { disagreements } from './agreement.ts';
import type { Manifests } from './apply.ts';
import type { Cluster } from './cluster.ts';
import { formatEvent } from './describe.ts';
import { signedMs, spanMs, type Duration } from './duration.ts';
import type { Part, RestartablePart } from './faults.ts';
import type { PodDemand, PodInvariants } from './pod-invariants.ts';

/** What steps work on. */
export interface StepContext {
  readonly cluster: Cluster;
  readonly random: Random;
  readonly invariants: PodInvariants;
  /** Values kept by `remember`, for `expect`. */
  readonly vars: Map<string, unknown>;
}

type Step = (context: StepContext, value: unknown) => Promise<unknown> | void;

/** Word → what it does. */
export const steps: Readonly<Record<string, Step>> = {
  apply: ({ cluster }, value) => cluster.apply(value as Manifests),
  delete: ({ cluster }, value) =>
    deleteObject(cluster, typeof value === 'string' ? { object: value } : (value as DeleteStep)),
  patch: ({ cluster }, value) => patchObject(cluster, value as PatchStep),
  wait: ({ cluster }, value) => waitFor(cluster, value as WaitStep),
  advance: ({ cluster }, value) => cluster.advance(value as Duration),
  expect: (context, value) => expectNow(context, value as ExpectStep),
  remember: ({ cluster, vars }, value) =>
    remember(cluster, vars, value as { as: string; object: string; path: string }),
  always: ({ invariants }, value) => {
    const { name, ...demand } = value as PodDemand & { name: string };
    invariants.demand(name, demand);
  },
  release: ({ invariants }, value) => invariants.release(value as string),
  image: ({ cluster }, value) => {
    const { name, ...spec } = value as SimImageSpec & { name: string };
    cluster.image(image(name).name, spec);
  },
  crash: ({ cluster }, value) => crash(cluster, value as string),
  start: ({ cluster }, value) => start(cluster, value as string),
  restart: ({ cluster }, value) => restart(cluster, value as string),
  crashAfterWrites: ({ cluster }, value) => {
    const { part, writes, down = 0 } = value as { part: 'scheduler'; writes: number; down?: Duration };
    // A part that is down after an earlier crash comes back first.
    return cluster.eventually(() => cluster.faults.crashAfterWrites(part, writes, spanMs(down)));
  },
  crashContainer: ({ cluster }, value) =>
    crashContainer(cluster, value as { pod: string; container?: string; code?: number }),
  addNode: ({ cluster }, value) => cluster.nodes.add(value as { name: string }),
  removeNode: ({ cluster }, value) => cluster.nodes.remove(value as string),
  partition: ({ cluster }, value) => cluster.nodes.partition(value as string),
  heal: ({ cluster }, value) => cluster.nodes.heal(value as string),
  cordon: ({ cluster }, value) => cluster.nodes.cordon(value as string),
  uncordon: ({ cluster }, value) => cluster.nodes.uncordon(value as string),
  drain: ({ cluster }, value) => cluster.nodes.drain(value as string),
  /** As `kubectl drain`: what a disruption budget refuses is asked for again, until nothing is left to evict. */
  tryDrain: ({ cluster }, value) => tryDrain(cluster, value as { node: string; every?: Duration; within?: Duration }),
  disconnect: ({ cluster }, value) => cluster.faults.disconnect(part(value)),
  reconnect: ({ cluster }, value) => cluster.faults.reconnect(part(value)),
  dropWatches: ({ cluster }, value) => cluster.faults.dropWatches(part(value)),
  lagWatches: ({ cluster }, value) => {
    const { part: of, lag } = value as { part?: Part; lag: Duration };
    cluster.faults.lagWatches(spanMs(lag), of);
  },
  repeatWatches: ({ cluster }, value) => {
    const { part: of, rate } = value as { part?: Part; rate: number };
    cluster.faults.repeatWatches(rate, of);
  },
  skewClock: ({ cluster }, value) => {
    const { node, by } = value as { node: string; by: Duration };
    cluster.nodes.skewClock(node, by);
  },
  fillDisk: ({ cluster }, value) => {
    const { node, leaveBytes = 0 } = value as { node: string; leaveBytes?: number };
    cluster.nodes.fillDisk(node, leaveBytes);
  },
  freeDisk: ({ cluster }, value) => cluster.nodes.freeDisk(value as string),
  store: ({ cluster }, value) => setStoreFaults(cluster, value as Record<string, unknown>),
  /** What is left of a step that `keelson sim shrink` found to play no part. */
  nothing: () => undefined,
  rest: ({ cluster }, value) => expectRest(cluster, value as Duration),
  jumpClock: ({ cluster }, value) => cluster.jumpWallClock(signedMs(value as Duration)),
  repeat: (context, value) =>
    repeat(context, value as { times: number; every: Duration; steps: Record<string, unknown>[] }),
};

function part(value: unknown): Part | undefined {
  return value === 'all' || value === null ? undefined : (value as Part);
}

interface DeleteStep {
  readonly object: string;
  readonly grace?: number;
  readonly propagation?: 'Foreground' | 'Background' | 'Orphan';
}

async function deleteObject(cluster: Cluster, { object, grace, propagation }: DeleteStep): Promise<void> {
  const { info, namespace, name } = cluster.resolve(object);
  await cluster.client.resource(info).delete(key(namespace, name), {
    ...(grace === undefined ? {} : { gracePeriodSeconds: grace }),
    ...(propagation === undefined ? {} : { propagationPolicy: propagation }),
  });
}

interface PatchStep {
  readonly object: string;
  readonly merge?: object;
  readonly strategic?: object;
  readonly json?: readonly unknown[];
  readonly subresource?: string;
}

async function patchObject(
  cluster: Cluster,
  { object, merge, strategic, json, subresource }: PatchStep,
): Promise<void> {
  const { info, namespace, name } = cluster.resolve(object);
  const patch: Patch =
    json !== undefined
      ? { type: 'json', operations: json }
      : strategic !== undefined
        ? { type: 'strategic', patch: strategic }
        : { type: 'merge', patch: merge ?? {} };
  await cluster.client
    .resource(info)
    .patch(key(namespace, name), patch, subresource === undefined ? {} : { subresource });
}

function key(namespace: string, name: string): { namespace?: string; name: string } {
  return namespace === '' ? { name } : { namespace, name };
}

interface WaitStep {
  readonly for?: string;
  readonly until?: string;
  readonly pods?: PodsExpectation;
  readonly within?: Duration;
}

async function waitFor(cluster: Cluster, { for: object, until = 'Ready', pods, within }: WaitStep): Promise<void> {
  const options = within === undefined ? {} : { within };
  if (object !== undefined) await cluster.waitFor(object, until, options);
  if (pods !== undefined) await cluster.eventually(() => checkPods(cluster, pods), options);
}

/** Pods a selector matches, and how many of them are so. */
interface PodsExpectation {
  readonly selector: string;
  readonly count?: number;
  readonly ready?: number;
  readonly phase?: string;
  readonly node?: string;
  readonly notOn?: string;
  readonly restarts?: number;
  readonly maxRestarts?: number;
}

function checkPods(cluster: Cluster, expected: PodsExpectation): void {
  const matcher = parseLabelSelector(expected.selector);
  const pods = cluster.peek(Pods).filter(({ metadata }) => matcher.matches(metadata.labels));
  const text = (): string => pods.map(podText).join('; ') || 'none';
  const demand = (holds: boolean, what: string): void => {
    if (!holds) throw new Error(`pods ${expected.selector}: ${what} expected, there are: ${text()}`);
  };
  const { count, ready, phase, node, notOn, restarts, maxRestarts } = expected;
  if (count !== undefined) demand(pods.length === count, `${count}`);
  if (ready !== undefined)
    demand(
      pods.filter(({ status }) => status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True')).length ===
        ready,
      `${ready} ready`,
    );
  if (phase !== undefined)
    demand(
      pods.every(({ status }) => status?.phase === phase),
      `phase ${phase}`,
    );
  if (node !== undefined)
    demand(
      pods.every(({ spec }) => spec?.nodeName === node),
      `all on ${node}`,
    );
  if (notOn !== undefined)
    demand(
      pods.every(({ spec }) => spec?.nodeName !== notOn),
      `none on ${notOn}`,
    );
  if (maxRestarts !== undefined)
    demand(
      pods.every((pod) => restartsOf(pod) <= maxRestarts),
      `at most ${maxRestarts} restarts`,
    );
  if (restarts !== undefined)
    demand(
      pods.every((pod) => restartsOf(pod) === restarts),
      `${restarts} restarts`,
    );
}

function restartsOf(pod: Pod): number {
  return (pod.status?.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0);
}

function podText(pod: Pod): string {
  const waiting =
    pod.status?.containerStatuses
      ?.map(({ state }) => state?.waiting?.reason)
      .filter((reason) => reason !== undefined) ?? [];
  return `${pod.metadata.name} ${pod.status?.phase}${pod.metadata.deletionTimestamp === undefined ? '' : ' terminating'} on ${pod.spec?.nodeName} restarts=${restartsOf(pod)}${waiting.length > 0 ? ` ${waiting.join()}` : ''}`;
}

interface ExpectStep {
  readonly object?: string;
  /** An expectation of `waitFor`. Default: exists. */
  readonly is?: string;
  /** `.status.x` equals the remembered value of this name, or, with `!` before it, does not. */
  readonly path?: string;
  readonly remembered?: string;
  readonly atLeast?: number;
  readonly atMost?: number;
  readonly pods?: PodsExpectation;
  readonly event?: {
    readonly reason: string;
    readonly about?: string;
    readonly atLeast?: number;
    readonly atMost?: number;
  };
}

async function expectNow({ cluster, vars }: StepContext, expected: ExpectStep): Promise<void> {
  const { object, is, pods, event, path, remembered } = expected;
  if (object !== undefined && path === undefined) await cluster.waitFor(object, is ?? 'exists', { within: 0 });
  if (object !== undefined && path !== undefined) {
    const value = valueAt(await cluster.waitFor(object, 'exists', { within: 0 }), path);
    const { atLeast, atMost } = expected;
    if (atLeast !== undefined && !(Number(value) >= atLeast))
      throw new Error(`${object} ${path} is ${String(value)}, at least ${atLeast} expected`);
    if (atMost !== undefined && !(Number(value) <= atMost))
      throw new Error(`${object} ${path} is ${String(value)}, at most ${atMost} expected`);
    if (remembered !== undefined) compareRemembered(vars, { object, path, value, name: remembered });
  }
  if (pods !== undefined) checkPods(cluster, pods);
  if (event !== undefined) expectEvents(cluster, event);
}

function compareRemembered(
  vars: ReadonlyMap<string, unknown>,
  of: { object: string; path: string; value: unknown; name: string },
): void {
  const differs = of.name.startsWith('!');
  const name = differs ? of.name.slice(1) : of.name;
  if (!vars.has(name)) throw new Error(`nothing is remembered as ${name}`);
  if ((vars.get(name) === of.value) === differs)
    throw new Error(
      `${of.object} ${of.path} is ${String(of.value)}, ${differs ? 'another' : 'the same'} than ${String(vars.get(name))} expected`,
    );
}

function expectEvents(
  cluster: Cluster,
  { reason, about, atLeast = 1, atMost = Infinity }: NonNullable<ExpectStep['event']>,
): void {
  const events = cluster.events({ reason, ...(about === undefined ? {} : { about }) });
  const count = events.reduce((sum, { count: times = 1 }) => sum + times, 0);
  if (count >= atLeast && count <= atMost) return;
  const seen = cluster
    .events(about === undefined ? {} : { about })
    .slice(-10)
    .map(formatEvent);
  throw new Error(`event ${reason} seen ${count} times; the last events:\n${seen.join('\n')}`);
}

async function remember(
  cluster: Cluster,
  vars: Map<string, unknown>,
  { as, object, path }: { as: string; object: string; path: string },
): Promise<void> {
  vars.set(as, valueAt(await cluster.waitFor(object, 'exists', { within: 0 }), path));
}

function valueAt(object: KubernetesObject, path: string): unknown {
  return path
    .split('.')
    .slice(1)
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], object);
}

async function crash(cluster: Cluster, target: string): Promise<void> {
  const [kind, name] = target.split('/');
  if (kind === 'node' && name !== undefined) await cluster.nodes.crash(name);
  else if (kind === 'kubelet' && name !== undefined) cluster.nodes.crashKubelet(name);
  else await cluster.faults.crash(target as RestartablePart);
}

async function start(cluster: Cluster, target: string): Promise<void> {
  const [kind, name] = target.split('/');
  if ((kind === 'node' || kind === 'kubelet') && name !== undefined) await cluster.nodes.start(name);
  else await cluster.faults.start(target as RestartablePart);
}

async function restart(cluster: Cluster, target: string): Promise<void> {
  const [kind, name] = target.split('/');
  if (kind === 'kubelet' && name !== undefined) await cluster.nodes.restartKubelet(name);
  else await cluster.faults.restart(target as RestartablePart);
}

async function crashContainer(
  cluster: Cluster,
  { pod: reference, container, code = 1 }: { pod: string; container?: string; code?: number },
): Promise<void> {
  const pod = await cluster.waitFor<Pod>(reference, 'exists', { within: 0 });
  const statuses = pod.status?.containerStatuses ?? [];
  const status = container === undefined ? statuses[0] : statuses.find(({ name }) => name === container);
  const id = status?.containerID?.replace(/^.*:\/\//, '');
  if (id === undefined || pod.spec?.nodeName === undefined) throw new Error(`${reference} runs no such container`);
  await cluster.nodes.runtime(pod.spec.nodeName).crash(id, code);
}

const STORE_FAULTS: Readonly<Record<string, (value: unknown) => unknown>> = {
  latency: (value) => spanMs(value as Duration),
  failRate: Number,
  unknownRate: Number,
  failNext: Number,
  down: Boolean,
  full: Boolean,
};

function setStoreFaults(cluster: Cluster, faults: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(faults)) {
    const convert = STORE_FAULTS[name];
    if (convert === undefined)
      throw new Error(`store has no fault ${name}; there are: ${Object.keys(STORE_FAULTS).join(', ')}`);
    Object.assign(cluster.faults.store, { [name === 'latency' ? 'latencyMs' : name]: convert(value) });
  }
}

async function tryDrain(
  cluster: Cluster,
  { node, every = '5s', within = '10m' }: { node: string; every?: Duration; within?: Duration },
): Promise<void> {
  const endMs = cluster.nowMs + spanMs(within);
  for (;;) {
    const refused = await cluster.nodes.drain(node).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (refused === undefined) return;
    if (!isReason(refused, 'TooManyRequests') || cluster.nowMs >= endMs) throw refused;
    await cluster.advance(every);
  }
}

/** Heartbeats: what changes in a cluster where nothing happens. */
const HEARTBEATS = new Set(['leases', 'minions', 'events']);

/** After so much time, nothing but heartbeats is written in a minute, and no machine in reach runs what it should not. */
async function expectRest(cluster: Cluster, after: Duration): Promise<void> {
  await cluster.advance(after);
  const before = cluster.eventLog().byResource;
  await cluster.advance('1m');
  const changes = [...cluster.eventLog().byResource].map(
    ([resource, count]) => [resource, count - (before.get(resource) ?? 0)] as const,
  );
  const busy = changes.filter(([resource, count]) => count > 0 && !HEARTBEATS.has(resource));
  if (busy.length > 0)
    throw new Error(
      `not at rest, in one minute changed: ${busy.map(([resource, count]) => `${count} ${resource}`).join(', ')}`,
    );
  const pods = new Set(cluster.peek(Pods).map(({ metadata, spec }) => `${spec?.nodeName}/${metadata.uid}`));
  for (const node of cluster.nodes.names()) {
    const machine = cluster.nodes.machine(node);
    if (!machine.up || machine.partitioned) continue;
    const stray = [...machine.runtime.sandboxes.values()].filter(
      ({ ready, config }) => ready && !pods.has(`${node}/${config.metadata?.uid}`),
    );
    if (stray.length > 0)
      throw new Error(
        `${node} runs pods that are not its own: ${stray.map(({ config }) => config.metadata?.name).join(', ')}`,
      );
  }
  const wrong = disagreements(cluster);
  if (wrong.length > 0) throw new Error(`at rest, and yet: ${wrong.slice(0, 5).join('; ')}`);
}

async function repeat(
  context: StepContext,
  { times, every, steps: inner }: { times: number; every: Duration; steps: Record<string, unknown>[] },
): Promise<void> {
  for (let time = 0; time < times; time++) {
    for (const step of inner) {
      const [[word, value] = ['', undefined]] = Object.entries(step);
      const run = steps[word];
      if (run === undefined) throw new Error(`repeat: no step ${word}`);
      await run(context, value);
    }
    await context.cluster.advance(every);
  }
}
