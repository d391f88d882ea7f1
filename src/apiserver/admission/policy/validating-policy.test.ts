import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingAdmissionPolicyBindingSpec,
  ValidatingAdmissionPolicySpec,
} from '../../../api/gen/admissionregistration-v1.ts';
import {
  ConfigMaps,
  Deployments,
  Namespaces,
  Pods,
  ValidatingAdmissionPolicies,
  ValidatingAdmissionPolicyBindings,
} from '../../../api/gen/resources.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import type { StatusError } from '../../../api/status-error.ts';
import { createTestObjects } from '../../authz/objects-fixture.ts';
import { admit, type TestRequest, testingRegistry } from '../admission-fixture.ts';
import { compileValidatingPolicy } from './compile-validating.ts';
import { evaluatePolicy } from './evaluate-validating.ts';
import { EvaluationPace } from '../../admission-matching/evaluation-pace.ts';
import { createValidatingAdmissionPolicy } from './validating-policy.ts';

const everything = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }];

interface Case {
  readonly policy: ValidatingAdmissionPolicySpec;
  readonly binding?: Partial<ValidatingAdmissionPolicyBindingSpec>;
  readonly objects?: readonly KubernetesObject[];
  readonly request?: TestRequest;
  readonly resource?: typeof Pods | typeof Deployments;
}

const pod = (more: object = {}): KubernetesObject =>
  ({ metadata: { name: 'p', namespace: 'ns' }, spec: { containers: [] }, ...more }) as KubernetesObject;

async function run({ policy, binding = {}, objects = [], request = {}, resource = Pods }: Case) {
  const known = createTestObjects();
  known.put(Namespaces, { metadata: { name: 'ns', labels: { env: 'prod' } } });
  const spec = { matchConstraints: { resourceRules: everything }, failurePolicy: 'Fail', ...policy };
  known.put(ValidatingAdmissionPolicies, { metadata: { name: 'pol' }, spec } as ValidatingAdmissionPolicy);
  const bound = { policyName: 'pol', validationActions: ['Deny'], ...binding };
  known.put(ValidatingAdmissionPolicyBindings, {
    metadata: { name: 'bind' },
    spec: bound,
  } as ValidatingAdmissionPolicyBinding);
  known.put(ConfigMaps, ...(objects as never[]));
  const plugin = createValidatingAdmissionPolicy({
    objects: () => known.store,
    registry: testingRegistry(Pods, Deployments, ConfigMaps, Namespaces),
    authorizer: { authorize: async ({ verb }) => ({ decision: verb === 'get' ? 'allow' : 'deny', reason: '' }) },
  });
  const warnings: string[] = [];
  const annotations = new Map<string, string>();
  const about = { object: pod(), warnings, annotations, ...request };
  const error = await admit(plugin, resource, about).then(
    () => undefined,
    (failure: StatusError) => failure,
  );
  return { error, warnings, annotations };
}

const valid = (expression: string, more: object = {}): ValidatingAdmissionPolicySpec => ({
  validations: [{ expression, ...more }],
});
const denied = (message: string): string =>
  `pods "p" is forbidden: ValidatingAdmissionPolicy 'pol' with binding 'bind' denied request: ${message}`;

test('expressions admit or refuse with upstream texts', async () => {
  const cases: readonly [string, Case, string | undefined][] = [
    ['true', { policy: valid('object.metadata.name == "p"') }, undefined],
    [
      'false',
      { policy: valid('object.metadata.name != "p"') },
      denied('failed expression: object.metadata.name != "p"'),
    ],
    ['a message', { policy: valid('false', { message: ' no ' }) }, denied('no')],
    [
      'a made message',
      { policy: valid('false', { message: 'no', messageExpression: '"not " + object.metadata.name' }) },
      denied('not p'),
    ],
    [
      'a message that fails',
      { policy: valid('false', { message: 'no', messageExpression: 'object.nope' }) },
      denied('no'),
    ],
    [
      'an error',
      { policy: valid('object.nope == 1') },
      denied("expression 'object.nope == 1' resulted in error: no such key: nope"),
    ],
    ['an ignored error', { policy: { ...valid('object.nope == 1'), failurePolicy: 'Ignore' } }, undefined],
    [
      'what does not compile',
      { policy: valid('nope') },
      denied(
        "compilation error: compilation failed: ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')\n | nope\n | ^",
      ),
    ],
    [
      'the namespace',
      { policy: valid('namespaceObject.metadata.labels.env == "dev"', { message: 'prod' }) },
      denied('prod'),
    ],
    [
      'the request',
      {
        policy: valid(
          'request.operation == "CREATE" && request.resource.resource == "pods" && request.kind.kind == "Pod" && request.userInfo.username == "admin"',
        ),
      },
      undefined,
    ],
    ['no old object', { policy: valid('oldObject == null && object != null') }, undefined],
    [
      'an authorizer',
      {
        policy: valid(
          'authorizer.group("").resource("pods").namespace("ns").check("get").allowed() && !authorizer.requestResource.check("create").allowed()',
        ),
      },
      undefined,
    ],
    [
      'variables',
      {
        policy: {
          variables: [
            { name: 'n', expression: 'object.metadata.name' },
            { name: 'long', expression: 'variables.n.size() > 3' },
          ],
          ...valid('variables.long', { messageExpression: 'variables.n + " is short"' }),
        },
      },
      denied('p is short'),
    ],
    [
      'a failing variable',
      { policy: { variables: [{ name: 'n', expression: 'object.nope' }], ...valid('variables.n == 1') } },
      denied(
        'expression \'variables.n == 1\' resulted in error: composited variable "n" fails to evaluate: no such key: nope',
      ),
    ],
    [
      'a condition',
      { policy: { ...valid('false'), matchConditions: [{ name: 'c', expression: 'object.metadata.name == "q"' }] } },
      undefined,
    ],
    [
      'another resource',
      {
        policy: {
          ...valid('false'),
          matchConstraints: { resourceRules: [{ ...everything[0]!, resources: ['configmaps'] }] },
        },
      },
      undefined,
    ],
    [
      'another namespace',
      { policy: valid('false'), binding: { matchResources: { namespaceSelector: { matchLabels: { env: 'dev' } } } } },
      undefined,
    ],
  ];
  for (const [name, given, wanted] of cases) assert.equal((await run(given)).error?.message, wanted, name);
});

test('variables may have the names of anything', async () => {
  for (const name of ['read', 'equals', 'toString', 'valueOf', 'variables', 'object']) {
    const policy = { variables: [{ name, expression: '"x"' }], ...valid(`variables.${name} == "x"`) };
    assert.equal((await run({ policy })).error?.message, undefined, name);
  }
});

test('reasons and actions', async () => {
  const { error } = await run({ policy: valid('false', { reason: 'Forbidden' }) });
  assert.deepEqual([error?.code, error?.reason], [403, 'Forbidden']);
  const invalid = (await run({ policy: valid('false') })).error;
  assert.deepEqual([invalid?.code, invalid?.reason], [422, 'Invalid']);
  const warned = await run({ policy: valid('false'), binding: { validationActions: ['Warn', 'Audit'] } });
  assert.equal(warned.error, undefined);
  assert.deepEqual(warned.warnings, [
    "Validation failed for ValidatingAdmissionPolicy 'pol' with binding 'bind': failed expression: false",
  ]);
  assert.deepEqual(JSON.parse(warned.annotations.get('validation.policy.admission.k8s.io/validation_failure') ?? ''), [
    {
      message: 'failed expression: false',
      policy: 'pol',
      binding: 'bind',
      expressionIndex: 0,
      validationActions: ['Warn', 'Audit'],
    },
  ]);
  const audited = await run({
    policy: {
      auditAnnotations: [
        { key: 'who', valueExpression: '"by " + request.userInfo.username' },
        { key: 'none', valueExpression: 'null' },
      ],
    },
  });
  assert.deepEqual([...audited.annotations], [['pol/who', 'by admin']]);
});

test('parameters are found by name or selector, and missing ones follow parameterNotFoundAction', async () => {
  const map = (name: string, max: string): KubernetesObject =>
    ({ metadata: { name, namespace: 'ns', labels: { for: 'pol' } }, data: { max } }) as KubernetesObject;
  const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
  const policy = {
    paramKind,
    ...valid('int(params.data.max) > 1', { messageExpression: 'params.kind + " " + params.metadata.name' }),
  };
  const byName = { name: 'a', parameterNotFoundAction: 'Deny' };
  const bySelector = { selector: { matchLabels: { for: 'pol' } }, parameterNotFoundAction: 'Deny' };
  const failed = (text: string): string => denied(`failed to configure binding: ${text}`);
  const absent = 'no params found for policy binding with `Deny` parameterNotFoundAction';
  const cases: readonly [string, Case, string | undefined][] = [
    ['by name', { policy, binding: { paramRef: byName }, objects: [map('a', '2')] }, undefined],
    ['by name, refusing', { policy, binding: { paramRef: byName }, objects: [map('a', '1')] }, denied('ConfigMap a')],
    [
      'each by selector',
      { policy, binding: { paramRef: bySelector }, objects: [map('a', '2'), map('b', '1')] },
      denied('ConfigMap b'),
    ],
    ['absent', { policy, binding: { paramRef: byName } }, failed(absent)],
    ['absent, allowed', { policy, binding: { paramRef: { ...byName, parameterNotFoundAction: 'Allow' } } }, undefined],
    ['no reference', { policy: { paramKind, ...valid('params == null') } }, undefined],
    [
      'an unknown kind',
      { policy: { paramKind: { apiVersion: 'x.io/v1', kind: 'X' }, ...valid('true') } },
      "pods \"p\" is forbidden: ValidatingAdmissionPolicy 'pol' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'x.io/v1, Kind=X'",
    ],
  ];
  for (const [name, given, wanted] of cases) assert.equal((await run(given)).error?.message, wanted, name);
});

test('validations that cost much have steps', () => {
  const numbers = `[${Array.from({ length: 100 }, (_, i) => i).join(', ')}]`;
  const expression = `${numbers}.all(x, ${numbers}.all(y, x + y >= 0))`;
  const stepsOf = (count: number, of: string): number => {
    const policy = compileValidatingPolicy({
      metadata: {},
      spec: { validations: Array(count).fill({ expression: of }) },
    });
    const activation = { object: {}, variables: {} };
    const steps = evaluatePolicy(policy, { full: activation, messages: activation }, 'Fail');
    return [...steps].length;
  };
  assert.ok(stepsOf(20, expression) >= 5);
  assert.equal(stepsOf(20, 'true'), 0);
});

test('cheap validations that bindings and parameters multiply have steps together', () => {
  const policy = compileValidatingPolicy({
    metadata: {},
    spec: { validations: Array(900).fill({ expression: 'true' }) },
  });
  const activation = { object: {}, variables: {} };
  const pace = new EvaluationPace();
  let steps = 0;
  for (let invocation = 0; invocation < 100; invocation++)
    steps += [...evaluatePolicy(policy, { full: activation, messages: activation }, 'Fail', pace)].length;
  assert.ok(steps >= 15, `${steps} steps for 90,000 validations`);
});
