import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NamedRuleWithOperations } from '../../api/gen/admissionregistration-v1.ts';
import { Deployments, HorizontalPodAutoscalers, Namespaces, Nodes, Pods } from '../../api/gen/resources.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { createTestObjects } from '../authz/objects-fixture.ts';
import { allSteps } from '../../base/steps.ts';
import { matchConditionSteps, type MatchConditions } from './match-conditions.ts';
import { admissionAttributesOf, testingRegistry } from '../admission/admission-fixture.ts';
import { type MatchCriteria, matchRequest } from './resource-matcher.ts';
import { isAdmissionConfiguration, ruleMatches } from './rules-matcher.ts';

const matchConditionsOf = (...conditions: Parameters<typeof matchConditionSteps>): MatchConditions =>
  allSteps(matchConditionSteps(...conditions));

const any: NamedRuleWithOperations = { operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] };
const pods: NamedRuleWithOperations = {
  operations: ['CREATE'],
  apiGroups: [''],
  apiVersions: ['v1'],
  resources: ['pods'],
};

test('a rule matches by operation, group, resource, sub-resource and scope', () => {
  const cases: readonly [string, NamedRuleWithOperations, ResourceInfo, string, boolean][] = [
    ['the resource', pods, Pods, '', true],
    ['not its sub-resources', pods, Pods, 'status', false],
    ['a sub-resource', { ...pods, resources: ['pods/status'] }, Pods, 'status', true],
    ['any sub-resource', { ...pods, resources: ['pods/*'] }, Pods, 'log', true],
    ['a sub-resource of any', { ...pods, resources: ['*/scale'] }, Pods, 'scale', true],
    ['any main resource', { ...pods, resources: ['*'] }, Pods, 'status', false],
    ['another operation', { ...pods, operations: ['UPDATE', 'DELETE'] }, Pods, '', false],
    ['another group', pods, Deployments, '', false],
    ['everything', any, Deployments, 'scale', true],
    ['scope Namespaced', { ...any, scope: 'Namespaced' }, Pods, '', true],
    ['scope Cluster', { ...any, scope: 'Cluster' }, Pods, '', false],
    ['a name', { ...pods, resourceNames: ['p'] }, Pods, '', true],
    ['another name', { ...pods, resourceNames: ['q'] }, Pods, '', false],
  ];
  for (const [name, rule, resource, subresource, wanted] of cases) {
    const subject = { operation: 'CREATE', resource, subresource, namespace: 'ns', name: 'p' } as const;
    assert.equal(ruleMatches(rule, subject), wanted, name);
  }
  const onNamespace = {
    operation: 'UPDATE',
    resource: Namespaces,
    subresource: '',
    namespace: 'x',
    name: 'x',
  } as const;
  assert.equal(ruleMatches({ ...any, scope: 'Cluster' }, onNamespace), true);
  assert.equal(ruleMatches({ ...any, scope: 'Namespaced' }, onNamespace), false);
  const admission = { group: 'admissionregistration.k8s.io' };
  assert.equal(isAdmissionConfiguration({ ...admission, resource: 'validatingadmissionpolicies' }), true);
  assert.equal(isAdmissionConfiguration(Pods), false);
});

test('selectors and policies of matching', async () => {
  const objects = createTestObjects();
  objects.put(Namespaces, { metadata: { name: 'ns', labels: { env: 'prod' } } });
  const other: ResourceInfo = { ...(HorizontalPodAutoscalers as ResourceInfo), version: 'v1' };
  const registry = testingRegistry(Pods, Nodes, Namespaces, HorizontalPodAutoscalers, other);
  const deps = { objects: () => objects.store, registry };
  const prod = { matchLabels: { env: 'prod' } };
  const pod: KubernetesObject = { metadata: { name: 'p', namespace: 'ns', labels: { env: 'prod' } } };
  const bare: KubernetesObject = { metadata: { name: 'p', namespace: 'ns' } };
  const autoscaler = { ...any, apiVersions: ['v1'], apiGroups: ['autoscaling'] };
  const cases: readonly [string, MatchCriteria, ResourceInfo, KubernetesObject, string | undefined][] = [
    ['no rules', {}, Pods, pod, 'v1'],
    ['a namespace selector', { namespaceSelector: prod }, Pods, bare, 'v1'],
    ['another namespace', { namespaceSelector: { matchLabels: { env: 'dev' } } }, Pods, bare, undefined],
    [
      'what is in no namespace',
      { namespaceSelector: { matchLabels: { env: 'dev' } } },
      Nodes,
      { metadata: { name: 'n' } },
      'v1',
    ],
    [
      'a namespace by its own labels',
      { namespaceSelector: prod },
      Namespaces,
      { metadata: { name: 'n', labels: { env: 'x' } } },
      undefined,
    ],
    ['an object selector', { objectSelector: prod }, Pods, pod, 'v1'],
    ['no label', { objectSelector: prod }, Pods, bare, undefined],
    ['excluded', { resourceRules: [any], excludeResourceRules: [pods] }, Pods, pod, undefined],
    ['an equivalent version', { resourceRules: [autoscaler] }, HorizontalPodAutoscalers, pod, 'v1'],
    ['exactly', { resourceRules: [autoscaler], matchPolicy: 'Exact' }, HorizontalPodAutoscalers, pod, undefined],
  ];
  for (const [name, criteria, resource, object, wanted] of cases) {
    const attributes = admissionAttributesOf(resource, { object });
    assert.equal((await matchRequest(criteria, attributes, deps))?.matched.info.version, wanted, name);
  }
});

test('match conditions decide whether a webhook or policy is called', async () => {
  const own = testingRegistry(Pods).known(Pods)!;
  const allow = (): { decision: 'allow'; reason: string } => ({ decision: 'allow', reason: '' });
  const pod = { metadata: { name: 'p', namespace: 'ns', labels: { app: 'web' } } };
  const yes = { name: 'yes', expression: 'object.metadata.labels.app == "web"' };
  const no = { name: 'no', expression: 'request.operation == "DELETE"' };
  const fails = { name: 'fails', expression: 'object.spec.nope == 1' };
  const asks = {
    name: 'asks',
    expression:
      'authorizer.group("").resource("pods").namespace("ns").check("get").allowed() && authorizer.requestResource.check("create").allowed()',
  };
  const text = "expression 'object.spec.nope == 1' resulted in error: no such key: nope";
  const cases = [
    ['none', [], 'Fail', { matches: true }],
    ['all hold', [yes, asks], 'Fail', { matches: true }],
    ['one is false', [yes, no], 'Fail', { matches: false, failedCondition: 'no' }],
    ['false wins over an error', [fails, no], 'Fail', { matches: false, failedCondition: 'no' }],
    ['an error', [yes, fails], 'Fail', { matches: false, error: text }],
    ['an ignored error', [yes, fails], 'Ignore', { matches: false }],
    [
      'users',
      [{ name: 'user', expression: '"devs" in request.userInfo.groups && request.userInfo.username == "ann"' }],
      'Fail',
      { matches: true },
    ],
    [
      'costs',
      [{ name: 'costs', expression: 'lists.range(100000).all(x, lists.range(100000).all(y, x >= y || x < y))' }],
      'Fail',
      {
        matches: false,
        error:
          "expression 'lists.range(100000).all(x, lists.range(100000).all(y, x >= y || x < y))' resulted in error: operation cancelled: actual cost limit exceeded",
      },
    ],
  ] as const;
  for (const slow of [false, true])
    for (const [name, conditions, policy, wanted] of cases) {
      const attributes = admissionAttributesOf(Pods, { object: pod, user: { name: 'ann', groups: ['devs'] } });
      const answer = slow ? async () => allow() : allow;
      assert.deepEqual(
        await matchConditionsOf(conditions, policy).evaluate(attributes, { requested: own, matched: own }, answer),
        wanted,
        name,
      );
    }
});
