/** Expectations of scenarios: about objects, pods and events, at once or within a time, and about a cluster at rest. */
import { valueAt } from './wait.ts';
import { Pods } from '../api/gen/resources.ts';
import { disagreements } from './agreement.ts';
import { isInReach } from './agreement/comparisons.ts';
import type { Cluster } from './cluster.ts';
import { formatEvent } from './describe.ts';
import type { Duration } from './duration.ts';
import type { PodInvariants } from './pod-invariants.ts';
import { checkPods, type PodsExpectation } from './scenario-pods.ts';
import { described, fields, meant, number, span, text } from './scenario-shape.ts';
import { resourceOf } from './event-log.ts';
import type { RunNotes } from './scenario-notes.ts';
import { expectWhy, type WhyExpectation, whyShape } from './scenario-why.ts';
import { storeChangeText } from './timeline/change-text.ts';

export interface StepContext {
  readonly cluster: Cluster;
  readonly invariants: PodInvariants;
  /** Values stored by `remember`, for `expect`. */
  readonly vars: Map<string, unknown>;
  readonly notes: RunNotes;
}

const podsShape = meant(
  fields(
    {
      selector: described('Label selector, such as `app=web`.', text),
      count: described('So many there are.', number),
      ready: described('So many are Ready.', number),
      phase: described('All are in this phase.', text),
      node: described('All are on this node.', text),
      notOn: described('None is on this node.', text),
      restarts: described('Each has so many restarts.', number),
      maxRestarts: described('Each has at most so many restarts.', number),
    },
    ['selector'],
  ),
  ({ selector: _, ...demands }) =>
    Object.keys(demands).length === 0 ? 'says nothing of the pods, such as ready: 3' : undefined,
  { minProperties: 2 },
);

const IS = 'A condition (`Available`, `Ready=False`), a value (`.status.phase=Running`), `exists` or `deleted`.';

/** The shape of `wait`. */
export const waitShape = meant(
  fields({
    for: described('The object: `KIND/NAME` or `KIND/NAMESPACE/NAME`.', text),
    until: described(`${IS} Default: Ready.`, text),
    pods: described('Pods that a selector matches, and how they have to be.', podsShape),
    within: described('Default: ten minutes.', span),
  }),
  (step) => {
    if (step['until'] !== undefined && step['for'] === undefined) return 'until is of an object: for is missing';
    return step['for'] === undefined && step['pods'] === undefined
      ? 'waits for nothing: for or pods is missing'
      : undefined;
  },
  { minProperties: 1 },
);

const eventShape = meant(
  fields(
    {
      reason: described("The event's reason, such as `FailedScheduling`.", text),
      about: described('The object that it is about: `KIND/NAME`.', text),
      atLeast: described('Seen so often at least. Default 1.', number),
      atMost: described('Seen so often at most.', number),
    },
    ['reason'],
  ),
  (event) => (event['atLeast'] === 0 && event['atMost'] === undefined ? 'atLeast: 0 holds always' : undefined),
);

/** The shape of `expect`. */
export const expectShape = meant(
  fields({
    object: described('The object: `KIND/NAME` or `KIND/NAMESPACE/NAME`.', text),
    is: described(`${IS} Default: exists.`, text),
    path: described('Path to a value of the object, such as `.status.replicas`; to be compared.', text),
    remembered: described('The value at `path` is the one of this name; with `!` before it, another.', text),
    atLeast: described('The value at `path` is a number, so much at least.', number),
    atMost: described('The value at `path` is a number, so much at most.', number),
    pods: described('Pods that a selector matches, and how they have to be.', podsShape),
    why: described('The answer of `keelson why`.', whyShape),
    event: described('An event that was seen.', eventShape),
  }),
  (step) => {
    const has = (...names: string[]): string | undefined => names.find((name) => step[name] !== undefined);
    const compared = has('remembered', 'atLeast', 'atMost');
    if (has('object', 'pods', 'event', 'why') === undefined)
      return 'expects nothing: object, pods, event or why is missing';
    const ofObject = has('is', 'path') ?? compared;
    if (ofObject !== undefined && has('object') === undefined) return `${ofObject} is of an object: object is missing`;
    if (has('path') === undefined)
      return compared === undefined ? undefined : `${compared} is of a value: path is missing`;
    if (has('is') !== undefined) return 'is and path do not go together: .status.x=3 is written with is alone';
    return compared === undefined ? 'says nothing of the path: remembered, atLeast or atMost is missing' : undefined;
  },
  { minProperties: 1 },
);

interface WaitStep {
  readonly for?: string;
  readonly until?: string;
  readonly pods?: PodsExpectation;
  readonly within?: Duration;
}

/** Waits for a step's expectation. */
export async function waitFor(
  cluster: Cluster,
  { for: object, until = 'Ready', pods, within }: WaitStep,
  { notes }: StepContext,
): Promise<void> {
  const options = within === undefined ? {} : { within };
  const [startMs, { count }] = [cluster.clock.monotonicMs(), cluster.eventLog()];
  if (object !== undefined) await cluster.waitFor(object, until, options);
  if (pods !== undefined) await cluster.eventually(() => checkPods(cluster, pods), options);
  if (cluster.clock.monotonicMs() === startMs && cluster.eventLog().count === count) notes.alreadyTrue();
}

interface ExpectStep {
  readonly object?: string;
  /** An expectation of `waitFor`. Default: exists. */
  readonly is?: string;
  /** `.status.x` equals the remembered value of this name or, with `!` before the name, differs from it. */
  readonly path?: string;
  readonly remembered?: string;
  readonly atLeast?: number;
  readonly atMost?: number;
  readonly pods?: PodsExpectation;
  readonly why?: WhyExpectation;
  readonly event?: {
    readonly reason: string;
    readonly about?: string;
    readonly atLeast?: number;
    readonly atMost?: number;
  };
}

/** Checks the current state. */
export async function expectNow(cluster: Cluster, expected: ExpectStep, { vars }: StepContext): Promise<void> {
  const { object, is, pods, event, why, path, remembered } = expected;
  if (object !== undefined && path === undefined) await cluster.waitFor(object, is ?? 'exists', { within: 0 });
  if (object !== undefined && path !== undefined) {
    const value = await valueOf(cluster, object, path);
    const { atLeast, atMost } = expected;
    if (atLeast !== undefined && !(Number(value) >= atLeast))
      throw new Error(`${object} ${path} is ${String(value)}, at least ${atLeast} expected`);
    if (atMost !== undefined && !(Number(value) <= atMost))
      throw new Error(`${object} ${path} is ${String(value)}, at most ${atMost} expected`);
    if (remembered !== undefined) compareRemembered(vars, { object, path, value, name: remembered });
  }
  if (pods !== undefined) checkPods(cluster, pods);
  if (why !== undefined) await expectWhy(cluster, why);
  if (event !== undefined) expectEvents(cluster, event);
}

function compareRemembered(
  vars: ReadonlyMap<string, unknown>,
  expectation: { object: string; path: string; value: unknown; name: string },
): void {
  const differs = expectation.name.startsWith('!');
  const name = differs ? expectation.name.slice(1) : expectation.name;
  if (!vars.has(name)) throw new Error(`nothing is remembered as ${name}`);
  if ((vars.get(name) === expectation.value) === differs)
    throw new Error(
      `${expectation.object} ${expectation.path} is ${String(expectation.value)}, ${differs ? 'another' : 'the same'} than ${String(vars.get(name))} expected`,
    );
}

function expectEvents(
  cluster: Cluster,
  { reason, about, atLeast = 1, atMost = Infinity }: NonNullable<ExpectStep['event']>,
): void {
  const events = cluster.events({ reason, about });
  const count = events.reduce((sum, { count: times = 1 }) => sum + times, 0);
  if (count >= atLeast && count <= atMost) return;
  const seen = cluster
    .events(about === undefined ? {} : { about })
    .slice(-10)
    .map(formatEvent);
  throw new Error(`event ${reason} seen ${count} times; the last events:\n${seen.join('\n')}`);
}

/** The value at a path of an existing object. */
export async function valueOf(cluster: Cluster, object: string, path: string): Promise<unknown> {
  return valueAt(await cluster.waitFor(object, 'exists', { within: 0 }), path);
}

/** Resources of heartbeats, which change in an idle cluster. */
const HEARTBEATS = new Set(['leases', 'minions', 'events']);

const SHOWN_CHANGES_OF_RESOURCE = 4;

/** The changes of some resources after a revision, one line each, grouped by resource. */
async function changesText(
  cluster: Cluster,
  { after, isMeant }: { after: number; isMeant: (resource: string) => boolean },
): Promise<string> {
  const all = await cluster.eventLog().changesAfter(after);
  const lines = [...Map.groupBy(all, ({ key }) => resourceOf(key))].flatMap(([resource, changes]) => {
    if (!isMeant(resource)) return [];
    const more = changes.length - SHOWN_CHANGES_OF_RESOURCE;
    const shown = changes.slice(0, SHOWN_CHANGES_OF_RESOURCE).map(storeChangeText);
    return more > 0 ? [...shown, `and ${more} more changes of ${resource}`] : shown;
  });
  return ['', ...lines].join('\n  ');
}

/**
 * Expects that, after the duration, only heartbeats are written for a minute, and that no reachable machine runs unwanted
 * containers.
 */
export async function expectRest(cluster: Cluster, after: Duration): Promise<void> {
  await cluster.advance(after);
  const before = cluster.eventLog();
  await cluster.advance('1m');
  const changes = [...cluster.eventLog().byResource].map(
    ([resource, count]) => [resource, count - (before.byResource.get(resource) ?? 0)] as const,
  );
  const busy = changes.filter(([resource, count]) => count > 0 && !HEARTBEATS.has(resource));
  if (busy.length > 0) {
    const isMeant = (resource: string): boolean => busy.some(([name]) => name === resource);
    throw new Error(
      `not at rest, in one minute changed: ${busy.map(([resource, count]) => `${count} ${resource}`).join(', ')}` +
        (await changesText(cluster, { after: before.revision, isMeant })),
    );
  }
  if (!cluster.faults.works('apiserver')) throw new Error('the API server is down: nothing can be said of a rest');
  const pods = new Set(cluster.peek(Pods).map(({ metadata, spec }) => `${spec?.nodeName}/${metadata.uid}`));
  for (const node of cluster.nodes.names()) {
    if (!isInReach(cluster, node)) continue;
    const stray = [...cluster.nodes.runtime(node).sandboxes.values()].filter(
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
