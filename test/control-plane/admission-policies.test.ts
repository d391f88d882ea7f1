/** Admission policies with an unmodified kubectl. */
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { type ControlPlaneFixture, startControlPlane } from './control-plane-fixture.ts';

let plane: ControlPlaneFixture;

before(async () => {
  plane = await startControlPlane();
});
after(() => plane.stop());
afterEach(async () => {
  const kinds = ['validating', 'mutating'].flatMap((kind) => [
    `${kind}admissionpolicies`,
    `${kind}admissionpolicybindings`,
  ]);
  const said = await plane.kubectl(['delete', kinds.join(','), '--all']);
  assert.equal(said.code, 0, said.stderr);
});

const GROUP = 'admissionregistration.k8s.io/v1';
const MAPS = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] }];

async function apply(...objects: object[]): Promise<void> {
  const said = await plane.kubectl(
    ['apply', '-f', '-'],
    objects.map((object) => JSON.stringify(object)).join('\n---\n'),
  );
  assert.equal(said.code, 0, said.stderr);
}

function policy(spec: object): object {
  const matchConstraints = { resourceRules: MAPS };
  return {
    apiVersion: GROUP,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'limit' },
    spec: { matchConstraints, ...spec },
  };
}

function binding(spec: object = {}): object {
  return {
    apiVersion: GROUP,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'limit-all' },
    spec: { policyName: 'limit', validationActions: ['Deny'], ...spec },
  };
}

const create = (name: string, ...literals: string[]) =>
  plane.kubectl(['create', 'configmap', name, ...literals.map((literal) => `--from-literal=${literal}`)]);

test('a policy applies from the next request on, and its denial has the reason', async () => {
  const validations = [
    {
      expression: 'size(object.data) <= int(params.data.max)',
      messageExpression: '"at most " + params.data.max + " entries"',
    },
  ];
  const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
  const resourceRules = [{ ...MAPS[0], resources: ['configmaps'] }];
  const conditions = [{ name: 'not-the-limit', expression: 'object.metadata.name != "limit"' }];
  assert.equal((await create('limit', 'max=1')).code, 0);
  await apply(
    policy({ paramKind, validations, matchConditions: conditions, matchConstraints: { resourceRules } }),
    binding({ paramRef: { name: 'limit', namespace: 'default', parameterNotFoundAction: 'Deny' } }),
  );
  const refused = await create('two', 'a=b', 'c=d');
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    /configmaps "two" is forbidden: ValidatingAdmissionPolicy 'limit' with binding 'limit-all' denied request: at most 1 entries/,
  );
  assert.equal((await create('one', 'a=b')).code, 0);
});

test('custom resources can be parameters, and are validated themselves', async () => {
  const names = {
    plural: 'replicalimits',
    singular: 'replicalimit',
    kind: 'ReplicaLimit',
    listKind: 'ReplicaLimitList',
  };
  const max = { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self > 0', message: 'must be positive' }] };
  const spec = { type: 'object', properties: { max } };
  const openAPIV3Schema = { type: 'object', properties: { spec } };
  await apply({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'replicalimits.rules.example.com' },
    spec: {
      group: 'rules.example.com',
      scope: 'Cluster',
      names,
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  });
  const established = ['--for=condition=Established', '--timeout=120s'];
  const waited = await plane.kubectl(['wait', 'crd/replicalimits.rules.example.com', ...established]);
  assert.equal(waited.code, 0, waited.stderr);
  const limit = (value: number): object => ({
    apiVersion: 'rules.example.com/v1',
    kind: 'ReplicaLimit',
    metadata: { name: 'small' },
    spec: { max: value },
  });
  const wrong = await plane.kubectl(['apply', '-f', '-'], JSON.stringify(limit(0)));
  assert.match(wrong.stderr, /The ReplicaLimit "small" is invalid: spec\.max: Invalid value: 0: must be positive/);
  await apply(limit(3));
  const resourceRules = [{ apiGroups: ['apps'], apiVersions: ['v1'], operations: ['*'], resources: ['deployments'] }];
  await apply(
    policy({
      paramKind: { apiVersion: 'rules.example.com/v1', kind: 'ReplicaLimit' },
      matchConstraints: { resourceRules },
      validations: [{ expression: 'object.spec.replicas <= params.spec.max', reason: 'Forbidden' }],
    }),
    binding({ paramRef: { name: 'small', parameterNotFoundAction: 'Deny' } }),
  );
  const deploy = (name: string, replicas: number) =>
    plane.kubectl(['create', 'deployment', name, '--image=i', `--replicas=${replicas}`]);
  assert.match(
    (await deploy('large', 4)).stderr,
    /deployments\.apps "large" is forbidden: .* denied request: failed expression: object\.spec\.replicas <= params\.spec\.max/,
  );
  assert.equal((await deploy('fits', 3)).code, 0);
});

test('warnings are printed by kubectl', async () => {
  await apply(
    policy({ validations: [{ expression: 'false', message: 'think twice' }] }),
    binding({ validationActions: ['Warn'] }),
  );
  const said = await create('warned', 'a=b');
  assert.equal(said.code, 0, said.stderr);
  assert.match(
    said.stderr,
    /Warning: Validation failed for ValidatingAdmissionPolicy 'limit' with binding 'limit-all': think twice/,
  );
});

test('an expression that does not compile is refused with its position', async () => {
  const bad = policy({ validations: [{ expression: 'object.metadata.name == 1 + "a"' }] });
  const said = await plane.kubectl(['apply', '-f', '-'], JSON.stringify(bad));
  assert.equal(said.code, 1);
  assert.match(
    said.stderr,
    /spec\.validations\[0\]\.expression: Invalid value: "object\.metadata\.name == 1 \+ \\"a\\"": compilation failed: ERROR: <input>:1:27: found no matching overload for '_\+_' applied to '\(int, string\)'/,
  );
});

test('type errors in expressions are reported in the status', async () => {
  await apply(policy({ validations: [{ expression: 'object.nope == "a"' }] }));
  const generation = ['--for=jsonpath={.status.observedGeneration}=1', '--timeout=120s'];
  const waited = await plane.kubectl(['wait', 'validatingadmissionpolicy', 'limit', ...generation]);
  assert.equal(waited.code, 0, waited.stderr);
  const path = 'jsonpath={.status.typeChecking.expressionWarnings[0].warning}';
  const said = await plane.kubectl(['get', 'validatingadmissionpolicy', 'limit', '-o', path]);
  assert.match(said.stdout, /^v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'nope'/);
});

test('a mutating policy changes created objects', async () => {
  const metadata = { name: 'mutate' };
  const expression = 'Object{metadata: Object.metadata{labels: {"touched-by": variables.who}}}';
  await apply(
    {
      apiVersion: GROUP,
      kind: 'MutatingAdmissionPolicy',
      metadata,
      spec: {
        matchConstraints: { resourceRules: MAPS },
        variables: [{ name: 'who', expression: '"policy-of-" + object.metadata.name' }],
        mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
        reinvocationPolicy: 'Never',
      },
    },
    { apiVersion: GROUP, kind: 'MutatingAdmissionPolicyBinding', metadata, spec: { policyName: 'mutate' } },
  );
  assert.equal((await create('mutated', 'a=b')).code, 0);
  const said = await plane.kubectl(['get', 'configmap', 'mutated', '-o', 'jsonpath={.metadata.labels.touched-by}']);
  assert.equal(said.stdout, 'policy-of-mutated', said.stderr);
});
