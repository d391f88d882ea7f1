/** Objects of many expressions are validated in steps, between which others have their turn. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesObject } from '../../api/object.ts';
import type { FieldCause } from '../../api/status-error.ts';
import type { RequestContext } from '../request-context.ts';
import { testPlatform } from '../server-fixture.ts';
import { clusterDefinitions } from './cluster-definitions.ts';
import { dynamicResourceDefinitions } from './dynamic-resources/definitions.ts';

const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const expressions = (count: number): { name: string; expression: string }[] =>
  times(count, (at) => ({ name: `c${at}`, expression: `object.metadata.name != "n${at}"` }));
const matchConstraints = {
  resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'], scope: '*' }],
};
const webhooks = times(50, (at) => ({
  name: `w${at}.a.io`,
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  clientConfig: { url: 'https://127.0.0.1:1/' },
  rules: matchConstraints.resourceRules,
  matchConditions: expressions(10),
}));
const selectors = times(32, (at) => ({ cel: { expression: `device.driver != "d${at}"` } }));
const devices = {
  requests: times(32, (at) => ({
    name: `r${at}`,
    exactly: { deviceClassName: 'd', allocationMode: 'ExactCount', count: 1, selectors },
  })),
};
const policy = {
  failurePolicy: 'Fail',
  matchConstraints,
  matchConditions: expressions(50),
  variables: expressions(100),
};

/** The minimum number of steps of the validation. */
const cases: readonly (readonly [kind: string, object: object, steps: number])[] = [
  ['ValidatingWebhookConfiguration', { webhooks }, 500],
  ['MutatingWebhookConfiguration', { webhooks }, 500],
  ['ValidatingAdmissionPolicy', { spec: { ...policy, validations: expressions(300) } }, 450],
  [
    'MutatingAdmissionPolicy',
    {
      spec: {
        ...policy,
        reinvocationPolicy: 'Never',
        mutations: times(300, () => ({
          patchType: 'JSONPatch',
          jsonPatch: { expression: '[JSONPatch{op: "test", path: "/a", value: 1 != 2}]' },
        })),
      },
    },
    450,
  ],
  ['DeviceClass', { spec: { selectors } }, 32],
  ['ResourceClaim', { spec: { devices } }, 1024],
  ['ResourceClaimTemplate', { spec: { spec: { devices } } }, 1024],
];

for (const [kind, parts, least] of cases)
  test(`the expressions of a ${kind} are compiled in steps, with the errors that validation at once finds`, () => {
    const definitions = [...clusterDefinitions, ...dynamicResourceDefinitions({ platform: testPlatform() })];
    const { strategy } = definitions.find(({ info }) => info.kind === kind)!;
    const context = {} as RequestContext;
    const errorsAndSteps = (object: object): [errors: FieldCause[], steps: number] => {
      const steps = strategy.validationSteps!(object as KubernetesObject, undefined, context);
      for (let count = 0; ; count++) {
        const { done, value } = steps.next();
        if (done === true) return [value, count];
      }
    };
    const object = { metadata: { name: 'a' }, ...structuredClone(parts) };
    strategy.applyDefaults?.(object as KubernetesObject);
    const [errors, steps] = errorsAndSteps(object);
    assert.deepEqual(errors.slice(0, 3), []);
    assert.ok(steps >= least, `${steps} steps`);
    const wrong = JSON.parse(JSON.stringify(object).replaceAll(' != ', ' !== ')) as KubernetesObject;
    const [found] = errorsAndSteps(wrong);
    assert.ok(found.length >= 32, `${found.length} errors`);
    assert.deepEqual(
      found.map(({ text }) => text).slice(0, 40),
      strategy
        .validate(structuredClone(wrong), context)
        .map(({ text }) => text)
        .slice(0, 40),
    );
  });
