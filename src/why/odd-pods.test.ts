/**
 * Explains generated pods on three servers: one where no other object may be read, one where none exists, one where all exist.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Pods } from '../api/gen/resources.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import { forbidden, notFound } from '../api/status-error.ts';
import { parseTime } from '../api/time.ts';
import type { Client } from '../client/client.ts';
import type { PodDecision, PodWhy } from '../component-helpers/pod-why.ts';
import { explainObject } from './explain.ts';
import type { Cause, Explanation } from './explanation.ts';
import { explanationText } from './text.ts';

const info = Pods as ResourceInfo<KubernetesObject>;
const NOW_MS = parseTime('2026-01-02T00:00:00Z');
const THINGS = { group: '', resource: 'things' };
const refuse = (): Promise<never> => Promise.reject(forbidden(THINGS, 'x', 'no'));
const absent = (key?: { name?: string }): Promise<never> => Promise.reject(notFound(THINGS, key?.name ?? 'x'));
const noneListed = (): Promise<object> => Promise.resolve({ items: [], metadata: {} });
const client = (of: object, raw: () => Promise<unknown>): Client => ({ resource: () => of, raw }) as unknown as Client;

const WORLDS = {
  unreadable: client({ get: refuse, list: refuse, create: refuse, getSubresource: refuse }, refuse),
  empty: client({ get: absent, list: noneListed, create: refuse, getSubresource: absent }, () => absent()),
  full: client(
    {
      get: (key: object) => Promise.resolve({ metadata: key, data: { known: 'eA==' } }),
      list: noneListed,
      create: refuse,
      getSubresource: absent,
    },
    () => absent(),
  ),
};

const NAME = fc.stringMatching(/^[a-z]{6,9}$/);
const TIME = fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-01T23:59:50Z', '2026-01-02T00:00:20Z');
const maybe = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(of, { nil: undefined });
const REFERENCE = fc.record({ name: NAME, optional: fc.boolean() });
const VOLUME = fc.oneof(
  fc.record({ secret: fc.record({ secretName: NAME, optional: fc.boolean() }) }),
  fc.record({ configMap: REFERENCE }),
  fc.record({ persistentVolumeClaim: fc.record({ claimName: NAME }) }),
  fc.constant({ ephemeral: {} }),
  fc.constant({ emptyDir: {} }),
);
const ENDED = fc.record({
  exitCode: fc.constantFrom(0, 1, 137, 143, 255),
  reason: fc.constantFrom('Error', 'OOMKilled'),
});
const WAITING = fc.constantFrom(
  'ContainerCreating',
  'CrashLoopBackOff',
  'ImagePullBackOff',
  'CreateContainerConfigError',
  'Odd',
);
const STATE = fc.oneof(
  fc.record({ waiting: fc.record({ reason: WAITING }) }),
  fc.record({ running: fc.record({ startedAt: TIME }) }),
  fc.record({ terminated: ENDED }),
);
const STATUS = fc.record({
  state: STATE,
  lastState: fc.oneof(fc.constant({}), fc.record({ terminated: ENDED })),
  restartCount: fc.nat(3),
  ready: fc.boolean(),
});
const CONDITION = fc.record({
  type: fc.constantFrom('Ready', 'PodScheduled', 'Initialized', 'DisruptionTarget', 'PodResizePending', 'Odd'),
  status: fc.constantFrom('True', 'False', 'Unknown'),
  reason: fc.constantFrom('Deferred', 'PreemptionByScheduler', 'Odd', 'Unschedulable'),
});

const POD = fc
  .record({
    nodeName: maybe(NAME),
    env: REFERENCE,
    volumes: fc.array(VOLUME, { maxLength: 3 }),
    pullSecrets: fc.array(NAME, { maxLength: 2 }),
    container: maybe(STATUS),
    conditions: fc.array(CONDITION, { maxLength: 3 }),
    phase: fc.constantFrom('Pending', 'Running', 'Succeeded', 'Failed', 'Odd'),
    deletionTimestamp: maybe(TIME),
    finalizers: fc.array(fc.constantFrom('example.com/odd', 'kubernetes.io/pvc-protection', 'foregroundDeletion')),
    nominatedNodeName: maybe(NAME),
  })
  .map((made) => {
    const volumes = made.volumes.map((volume, index) => ({ name: `v${index}`, ...volume }));
    const { deletionTimestamp, finalizers, nodeName, phase, conditions, nominatedNodeName } = made;
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'itself', namespace: 'here', uid: 'u', deletionTimestamp, finalizers },
      spec: {
        nodeName,
        volumes,
        imagePullSecrets: made.pullSecrets.map((name) => ({ name })),
        containers: [
          {
            name: 'web',
            image: 'web:1',
            envFrom: [{ secretRef: made.env }],
            volumeMounts: volumes.map(({ name }) => ({ name, mountPath: `/${name}` })),
          },
        ],
      },
      status: {
        phase,
        conditions,
        nominatedNodeName,
        containerStatuses: made.container === undefined ? [] : [{ name: 'web', ...made.container }],
      },
    };
  });

function all(causes: readonly Cause[]): readonly Cause[] {
  return causes.flatMap((one) => [one, ...all(one.because)]);
}

function optionalNames(pod: { spec: object }): Set<string> {
  const names = new Set<string>();
  JSON.stringify(pod.spec, (_key, value: { optional?: boolean; name?: string; secretName?: string } | undefined) => {
    if (value?.optional === true) names.add(value.secretName ?? value.name ?? '');
    return value;
  });
  return names;
}

function check(world: string, pod: KubernetesObject & { spec: object }, explanation: Explanation): void {
  const words = JSON.stringify(pod);
  const optional = optionalNames(pod);
  for (const { code, object } of all(explanation.causes)) {
    const at = `${code} ${object.kind}/${object.name}`;
    const isNamed = words.includes(`"${object.name}"`) || object.name.startsWith('itself');
    assert.ok(isNamed, `${at} is named by the pod`);
    assert.ok(!optional.has(object.name), `${at} is not optional`);
    if (world !== 'empty') assert.doesNotMatch(code, /(Missing|Gone)$/, `${at} is not known to be missing`);
  }
  const { state, causes, lookedAt } = explanation;
  if (state === 'Trouble') assert.notEqual(causes.length, 0, 'what is in trouble has a cause');
  if (state === 'Unknown' && causes.length === 0) assert.notEqual(lookedAt.length, 0, 'says what was looked at');
}

for (const [world, reads] of Object.entries(WORLDS))
  test(`a pod is explained by itself and the objects that it names, where everything else is ${world}`, async () => {
    await fc.assert(
      fc.asyncProperty(POD, async (pod) => {
        const explanation = await explainObject(info, pod as KubernetesObject, { client: reads, nowMs: NOW_MS });
        try {
          check(world, pod as KubernetesObject & { spec: object }, explanation);
        } catch (error) {
          throw new Error(`${(error as Error).message}:\n${explanationText(explanation)}`, { cause: error });
        }
      }),
      { numRuns: 2000, seed: 18 },
    );
  });

const PLUGIN = fc.constantFrom('NodeResourcesFit', 'VolumeBinding', 'TaintToleration', 'DynamicResources', 'OddPlugin');
const VERDICT = fc.record({
  name: NAME,
  verdict: fc.constant('Rejected' as const),
  plugins: fc.array(fc.record({ name: PLUGIN, verdict: fc.constantFrom('Passed', 'Rejected', 'Unresolvable') }), {
    minLength: 1,
    maxLength: 3,
  }),
});

test("the scheduler's message is attributed to the plugins that wrote it, and nodes are missing only when there are none", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(VERDICT, { maxLength: 4 }), fc.nat(5), maybe(PLUGIN), async (nodes, more, rejectedBy) => {
      const decision = {
        result: 'Unschedulable',
        message: 'said so',
        nodeCount: nodes.length + more,
        nodes,
        rejectedBy,
      };
      const why = { state: 'Unschedulable', now: decision as unknown as PodDecision } as PodWhy;
      const reads = client({ get: refuse, list: refuse, getSubresource: () => Promise.resolve(why) }, refuse);
      const pod = { kind: 'Pod', metadata: { name: 'itself', namespace: 'here', uid: 'u' } } as KubernetesObject;
      const { causes, state } = await explainObject(info, pod, { client: reads, nowMs: NOW_MS });
      const said = nodes
        .flatMap(({ plugins }) => plugins.filter(({ verdict }) => verdict !== 'Passed'))
        .map(({ name }) => name);
      const codes = [...said, ...(rejectedBy === undefined ? [] : [rejectedBy])].map((name) => `Unschedulable.${name}`);
      assert.equal(state, 'Trouble');
      const expected = decision.nodeCount === 0 ? ['NoNodes'] : codes.length > 0 ? codes : ['Unschedulable'];
      assert.ok(expected.includes(causes[0]?.code ?? ''), `${causes[0]?.code} is one of ${expected.join(', ')}`);
    }),
    { numRuns: 1000, seed: 18 },
  );
});
