import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
} from '../../../api/gen/admissionregistration-v1.ts';
import type { ConfigMap } from '../../../api/gen/core-v1.ts';
import {
  ConfigMaps,
  MutatingAdmissionPolicies,
  MutatingAdmissionPolicyBindings,
  Namespaces,
  Pods,
} from '../../../api/gen/resources.ts';
import { VirtualClock } from '../../../platform/sim/virtual-clock.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import type { StatusError } from '../../../api/status-error.ts';
import { createTestObjects } from '../../authz/objects-fixture.ts';
import { AdmissionChain } from '../admission-chain.ts';
import type { AdmissionPlugin } from '../contract.ts';
import { admissionAttributesOf, testingRegistry } from '../admission-fixture.ts';
import { createMutatingAdmissionPolicy } from './mutating-policy.ts';

interface Given {
  readonly name?: string;
  readonly mutations: readonly object[];
  readonly spec?: object;
}

const apply = (expression: string): object => ({ patchType: 'ApplyConfiguration', applyConfiguration: { expression } });
const patch = (expression: string): object => ({ patchType: 'JSONPatch', jsonPatch: { expression } });
const rules = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }];

async function run(
  policies: readonly Given[],
  others: readonly AdmissionPlugin[] = [],
  { params = [], pause }: { readonly params?: readonly ConfigMap[]; readonly pause?: () => Promise<void> } = {},
) {
  const known = createTestObjects();
  known.put(ConfigMaps, ...params);
  known.put(Namespaces, { metadata: { name: 'ns' } });
  for (const { name = 'pol', mutations, spec = {} } of policies) {
    const common = { matchConstraints: { resourceRules: rules }, failurePolicy: 'Fail', reinvocationPolicy: 'Never' };
    known.put(MutatingAdmissionPolicies, {
      metadata: { name },
      spec: { ...common, mutations, ...spec },
    } as MutatingAdmissionPolicy);
    known.put(MutatingAdmissionPolicyBindings, {
      metadata: { name: `${name}-bind` },
      spec: {
        policyName: name,
        ...(params.length > 0 && { paramRef: { selector: {}, parameterNotFoundAction: 'Deny' } }),
      },
    } as MutatingAdmissionPolicyBinding);
  }
  const plugin = createMutatingAdmissionPolicy({
    objects: () => known.store,
    registry: testingRegistry(Pods, ConfigMaps),
    authorizer: { authorize: () => ({ decision: 'allow', reason: '' }) },
  });
  const object = {
    metadata: { name: 'p', namespace: 'ns', labels: { a: 'b' } },
    spec: { containers: [{ name: 'main', image: 'i', args: ['x'] }], nodeSelector: { os: 'linux' } },
  } as KubernetesObject;
  const chain = new AdmissionChain([plugin, ...others], new VirtualClock());
  const attributes = admissionAttributesOf(Pods, { object });
  if (pause !== undefined) Object.assign(attributes.context, { nextStep: pause });
  const error = await Promise.resolve(chain.mutate(attributes)).then(
    () => undefined,
    (failure: StatusError) => failure,
  );
  return { object: JSON.parse(JSON.stringify(object)), error };
}

test('apply configurations merge as server-side apply does', async () => {
  const sidecar =
    'Object{metadata: Object.metadata{labels: {"c": "d"}}, spec: Object.spec{initContainers: [Object.spec.initContainers{name: "mesh", image: "m", restartPolicy: "Always"}], containers: [Object.spec.containers{name: "main", imagePullPolicy: "Never"}]}}';
  const { object, error } = await run([{ mutations: [apply(sidecar)] }]);
  assert.equal(error, undefined);
  assert.deepEqual(object.metadata.labels, { a: 'b', c: 'd' });
  assert.deepEqual(object.spec.containers, [
    { name: 'main', image: 'i', args: ['x'], imagePullPolicy: 'Never', resources: {} },
  ]);
  assert.deepEqual(object.spec.initContainers, [{ name: 'mesh', image: 'm', restartPolicy: 'Always', resources: {} }]);
});

test('JSON patches, in order, with variables', async () => {
  const mutations = [
    patch('has(object.metadata.labels.none) ? [] : [JSONPatch{op: "remove", path: "/spec/nodeSelector"}]'),
    patch(
      '(has(object.metadata.annotations) ? [] : [JSONPatch{op: "add", path: "/metadata/annotations", value: {}}]) + [JSONPatch{op: "add", path: "/metadata/annotations/" + jsonpatch.escapeKey("x.io/k"), value: variables.v}]',
    ),
  ];
  const { object, error } = await run([
    { mutations, spec: { variables: [{ name: 'v', expression: 'object.metadata.name + "!"' }] } },
  ]);
  assert.equal(error, undefined);
  assert.deepEqual(object.metadata.annotations, { 'x.io/k': 'p!' });
  assert.equal(object.spec.nodeSelector, undefined);
});

test('a patch that cannot be applied refuses the request, unless failures are ignored', async () => {
  const refused = (why: string): string => `policy 'pol' with binding 'pol-bind' denied request: ${why}`;
  const cases: readonly [string, object, string][] = [
    [
      'an atomic list',
      apply('Object{spec: Object.spec{containers: [Object.spec.containers{name: "main", args: ["y"]}]}}'),
      'error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.containers[0].args',
    ],
    [
      'a wrong type name',
      apply('Object{spec: Object.nope{}}'),
      'type mismatch: unexpected type name "Object.nope", expected "Object.spec", which matches field name path from root Object type',
    ],
    [
      'an unknown field',
      apply('Object{spec: Object.spec{nope: 1}}'),
      'error applying patch: failed to convert patch object to typed object: .spec.nope: field not declared in schema',
    ],
    [
      'an error',
      apply('object.nope ? Object{} : Object{}'),
      "expression 'object.nope ? Object{} : Object{}' resulted in error: no such key: nope",
    ],
    ['a path that is not there', patch('[JSONPatch{op: "remove", path: "/spec/nope"}]'), ''],
  ];
  for (const [name, mutation, why] of cases) {
    const { error } = await run([{ mutations: [mutation] }]);
    if (why === '') assert.match(error?.message ?? '', /^policy 'pol' with binding 'pol-bind' denied request: /, name);
    else assert.equal(error?.message, refused(why), name);
    assert.equal(error?.reason, 'Invalid', name);
    const ignored = await run([{ mutations: [mutation], spec: { failurePolicy: 'Ignore' } }]);
    assert.equal(ignored.error, undefined, name);
  }
});

test('a policy with reinvocation runs again when the object changed after it', async () => {
  const count =
    'Object{metadata: Object.metadata{labels: {"seen": has(object.metadata.labels.other) ? "other" : "none"}}}';
  const other: AdmissionPlugin = {
    name: 'Other',
    handles: () => true,
    mutate: ({ object }) => void ((object as KubernetesObject).metadata.labels!['other'] = 'yes'),
  };
  for (const [reinvocationPolicy, wanted] of [
    ['IfNeeded', 'other'],
    ['Never', 'none'],
  ]) {
    const { object } = await run([{ mutations: [apply(count)], spec: { reinvocationPolicy } }], [other]);
    assert.equal(object.metadata.labels.seen, wanted);
  }
});

test('conditions and policies in order', async () => {
  const label = (name: string, value: string): object =>
    apply(`Object{metadata: Object.metadata{labels: {"${name}": ${value}}}}`);
  const { object, error } = await run([
    { name: 'b', mutations: [label('two', 'object.metadata.labels.one + "2"')] },
    { name: 'a', mutations: [label('one', '"1"')] },
    {
      name: 'c',
      mutations: [label('three', '"3"')],
      spec: { matchConditions: [{ name: 'no', expression: 'object.metadata.name == "x"' }] },
    },
  ]);
  assert.equal(error, undefined);
  assert.deepEqual(object.metadata.labels, { a: 'b', one: '1', two: '12' });
});

test('parameters by the hundred leave others their turn, and nothing is evaluated once the request is over', async () => {
  const numbers = `[${Array.from({ length: 100 }, (_, at) => at).join(', ')}]`;
  const costly = `${numbers}.all(x, ${numbers}.all(y, x + y >= 0)) ? [] : [JSONPatch{op: "remove", path: "/metadata/labels"}]`;
  const params = Array.from({ length: 50 }, (_, at) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `p${at}`, namespace: 'ns' },
  }));
  const policy = { mutations: [patch(costly)], spec: { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } } };
  let pauses = 0;
  const pause = async (): Promise<void> => void pauses++;
  assert.equal((await run([policy], [], { params, pause })).error, undefined);
  assert.ok(pauses >= 10, String(pauses));
  pauses = 0;
  const end = async (): Promise<void> => {
    if (++pauses === 3) throw new Error('its time is over');
  };
  assert.match(String((await run([policy], [], { params, pause: end })).error), /its time is over/);
  assert.equal(pauses, 3);
});
