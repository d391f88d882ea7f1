/** The steps of scenarios: the shape and the action of each. `scenario-fault-steps.ts` has those that cause faults. */
import { didYouMean } from '../base/nearest-name.ts';
import type { SimImageSpec } from '../cri/sim/sim-image.ts';
import type { Manifests } from './apply.ts';
import type { Cluster } from './cluster.ts';
import type { Duration } from './duration.ts';
import type { PodDemand } from './pod-invariants.ts';
import { deleteObject, type DeleteStep, evict, patchObject, type PatchStep, tryDrain } from './scenario-actions.ts';
import {
  expectNow,
  expectRest,
  expectShape,
  type StepContext,
  valueOf,
  waitFor,
  waitShape,
} from './scenario-expectations.ts';
import { faultSteps } from './scenario-fault-steps.ts';
import { imageFields, nodeFields } from './scenario-fields.ts';
import {
  anything,
  described,
  fields,
  listOf,
  meant,
  number,
  objectOr,
  oneOf,
  type Path,
  type Schema,
  ShapeError,
  shapeOf,
  span,
  text,
} from './scenario-shape.ts';
import type { SimNodeSpec } from './sim-node-spec.ts';
import { node, reference, type StepWord, target, word } from './step-word.ts';

/** A step: one word with its value. */
export type ScenarioStep = Readonly<Record<string, unknown>>;

/** A list of steps, each with one word. */
export const stepList = shapeOf({ type: 'array', items: { $ref: '#/$defs/step' } }, checkSteps);

/** The steps. To add one: a line here. */
export const steps: Readonly<Record<string, StepWord>> = {
  apply: word<Manifests>(
    'Server-side apply of one object, a list of them, or YAML text. Fields that the kind does not have are refused.',
    anything,
    (cluster, value) => cluster.apply(value),
  ),
  delete: word<DeleteStep | string>(
    'Deletes an object.',
    objectOr(
      fields(
        {
          object: target,
          grace: described("Seconds of grace. Default: the object's own.", number),
          propagation: oneOf('Foreground', 'Background', 'Orphan'),
        },
        ['object'],
      ),
      target,
    ),
    (cluster, value) => deleteObject(cluster, typeof value === 'string' ? { object: value } : value),
  ),
  patch: word<PatchStep>(
    'Changes an object.',
    meant(
      fields(
        {
          object: target,
          merge: described('A JSON merge patch.', anything),
          strategic: described('A strategic merge patch.', anything),
          json: described('Operations of a JSON patch.', listOf(anything)),
          subresource: described('Such as `status` or `scale`.', text),
        },
        ['object'],
      ),
      ({ merge, strategic, json }) =>
        [merge, strategic, json].filter((one) => one !== undefined).length === 1
          ? undefined
          : 'changes nothing, or in two ways: one of merge, strategic and json is wanted',
      { minProperties: 2 },
    ),
    patchObject,
  ),
  evict: word<string>('Evicts a pod. Fails when a disruption budget refuses.', target, evict),
  wait: word('Lets time pass until something is so. Fails when time is up.', waitShape, waitFor),
  advance: word<Duration>('Lets time pass.', span, (cluster, value) => cluster.advance(value)),
  expect: word('Demands that something is so now.', expectShape, expectNow),
  remember: word<{ as: string; object: string; path: string }>(
    'Keeps a value under a name, for `expect`.',
    fields({ as: text, object: reference, path: text }, ['as', 'object', 'path']),
    async (cluster, { as, object, path }, { vars }) => void vars.set(as, await valueOf(cluster, object, path)),
  ),
  always: word<PodDemand & { name: string }>(
    'Demands something of pods at every moment, until `release`.',
    meant(
      fields(
        {
          name: described('For `release`, and for the failure.', text),
          selector: described('Label selector, such as `app=web`.', text),
          minReady: described('So many at least are Ready and not terminating.', number),
          maxActive: described('So many at most are neither terminating nor ended.', number),
        },
        ['name', 'selector'],
      ),
      ({ minReady, maxActive }) =>
        (minReady ?? maxActive) === undefined ? 'demands nothing: minReady or maxActive is missing' : undefined,
      { minProperties: 3 },
    ),
    (_, { name, ...demand }, { invariants }) => invariants.demand(name, demand),
  ),
  release: word<string>('Ends the `always` of this name.', text, (_, name, { invariants }) => invariants.release(name)),
  image: word<SimImageSpec & { name: string }>(
    'Containers of the image do something else from now on.',
    fields({ name: text, ...imageFields }, ['name']),
    (cluster, value) => {
      const { name, ...spec } = value;
      cluster.image(name, spec);
    },
  ),
  addNode: word<Partial<SimNodeSpec>>(
    'Adds a machine and waits until its node is Ready.',
    fields(nodeFields, ['name']),
    (cluster, value) => cluster.nodes.add(value),
  ),
  removeNode: word<string>('Takes a machine away for good, with its Node object.', node, (cluster, value) =>
    cluster.nodes.remove(value),
  ),
  cordon: word<string>('Marks a node unschedulable.', node, (cluster, value) => cluster.nodes.cordon(value)),
  uncordon: word<string>('Ends `cordon`.', node, (cluster, value) => cluster.nodes.uncordon(value)),
  drain: word<string>('Cordons a node and evicts its pods. Fails when a budget refuses.', node, (cluster, value) =>
    cluster.nodes.drain(value),
  ),
  tryDrain: word(
    'As `kubectl drain`: what a disruption budget refuses is asked for again, until nothing is left to evict.',
    fields({ node, every: described('Default: 5s.', span), within: described('Default: 10m.', span) }, ['node']),
    tryDrain,
  ),
  ...faultSteps,
  rest: word(
    'After so much time, nothing but heartbeats is written in a minute, no machine runs what it should not, and what the API says ' +
      'agrees with itself.',
    span,
    expectRest,
  ),
  repeat: word<{ times: number; every: Duration; steps: ScenarioStep[] }>(
    'Runs steps again and again.',
    fields({ times: number, every: described('Time that passes after each turn.', span), steps: stepList }, [
      'times',
      'every',
      'steps',
    ]),
    repeat,
  ),
};

/** The schema of one step, to which the schema of `stepList` refers. */
export function stepSchema(): Schema {
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(steps).map(([name, { takes }]) => [name, takes.schema])),
    additionalProperties: false,
    minProperties: 1,
    maxProperties: 1,
  };
}

function checkSteps(value: unknown, path: Path): void {
  const step = shapeOf({}, (one, at) => {
    const [[name, argument] = ['', undefined], ...more] = Object.entries((one ?? {}) as object);
    const known = Object.hasOwn(steps, name) ? steps[name] : undefined;
    if (known === undefined || more.length > 0)
      throw new ShapeError(
        `is not one of the steps ${Object.keys(steps).join(', ')}${didYouMean(name, Object.keys(steps))}`,
        name === '' ? at : [...at, more.length > 0 ? more[0]![0] : name],
      );
    known.takes(argument, [...at, name]);
  });
  listOf(step)(value, path);
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
