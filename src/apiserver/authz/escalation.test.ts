import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';
import { ClusterRoleBindings, ClusterRoles } from '../../api/gen/resources.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { escalationProblem, type GrantAttempt } from './escalation.ts';
import { createRbacAuthorizer } from './rbac-authorizer.ts';
import { uncoveredRules } from './rule-cover.ts';
import { compactRules, ruleText } from '../../component-helpers/rbac/rule-text.ts';
import { createTestObjects } from './objects-fixture.ts';

const rule = (apiGroups: string, resources: string, verbs: string, resourceNames?: string[]): PolicyRule => ({
  apiGroups: [apiGroups],
  resources: resources.split(','),
  verbs: verbs.split(','),
  ...(resourceNames === undefined ? {} : { resourceNames }),
});

const coverCases: readonly [string, PolicyRule[], PolicyRule[], string[]][] = [
  ['the same', [rule('', 'pods', 'get')], [rule('', 'pods', 'get')], []],
  ['spread over rules', [rule('', 'pods', 'get'), rule('', 'pods', 'list')], [rule('', 'pods', 'get,list')], []],
  ['everything', [rule('*', '*', '*')], [rule('apps', 'deployments/scale', 'update', ['x'])], []],
  [
    'a wildcard is not covered by single verbs',
    [rule('', 'pods', 'get')],
    [rule('', 'pods', '*')],
    ['{APIGroups:[""], Resources:["pods"], Verbs:["*"]}'],
  ],
  ['sub-resource wildcard', [rule('*', '*/scale', 'get')], [rule('apps', 'deployments/scale', 'get')], []],
  ['names narrow', [rule('', 'pods', 'get')], [rule('', 'pods', 'get', ['a'])], []],
  [
    'names do not widen',
    [rule('', 'pods', 'get', ['a'])],
    [rule('', 'pods', 'get')],
    ['{APIGroups:[""], Resources:["pods"], Verbs:["get"]}'],
  ],
  [
    'another name',
    [rule('', 'pods', 'get', ['a'])],
    [rule('', 'pods', 'get', ['a', 'b'])],
    ['{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}'],
  ],
  [
    'missing verbs are told together',
    [],
    [rule('', 'pods', 'get,list')],
    ['{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}'],
  ],
  [
    'paths',
    [{ nonResourceURLs: ['/api/*'], verbs: ['get'] }],
    [{ nonResourceURLs: ['/api/v1', '/apis'], verbs: ['get'] }],
    ['{NonResourceURLs:["/apis"], Verbs:["get"]}'],
  ],
];
for (const [name, held, wanted, missing] of coverCases) {
  test(`cover: ${name}`, () => assert.deepEqual(compactRules(uncoveredRules(held, wanted)).map(ruleText), missing));
}

const ann = { name: 'ann', groups: ['dev'] };
const API_GROUP = 'rbac.authorization.k8s.io';

function fixture(held: PolicyRule[]) {
  const objects = createTestObjects();
  const rbac = createRbacAuthorizer(objects.store);
  objects.put(
    ClusterRoles,
    { metadata: { name: 'held' }, rules: held },
    { metadata: { name: 'reader' }, rules: [rule('', 'pods', 'get')] },
  );
  objects.put(ClusterRoleBindings, {
    metadata: { name: 'b' },
    subjects: [{ kind: 'User', name: 'ann' }],
    roleRef: { apiGroup: API_GROUP, kind: 'ClusterRole', name: 'held' },
  });
  return (attempt: Partial<GrantAttempt> & { object: KubernetesObject }) =>
    escalationProblem(
      { objects: () => objects.store, authorizer: rbac, rulesFor: rbac.rulesFor },
      { user: ann, resource: 'clusterroles', namespace: '', requestName: '', ...attempt },
    );
}
const role = (rules: PolicyRule[], more: object = {}): KubernetesObject =>
  ({ metadata: { name: 'x' }, rules, ...more }) as KubernetesObject;
const bindingTo = (name: string): KubernetesObject =>
  ({ metadata: { name: 'x' }, roleRef: { apiGroup: API_GROUP, kind: 'ClusterRole', name } }) as KubernetesObject;
const REFUSAL =
  'user "ann" (groups=["dev"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["get"]}';
const getPods = rule('', 'pods', 'get');

const attempts: readonly [
  string,
  PolicyRule[],
  Partial<GrantAttempt> & { object: KubernetesObject },
  string | undefined,
][] = [
  ['a role with what one holds', [getPods], { object: role([getPods]) }, undefined],
  ['a role with more', [], { object: role([getPods]) }, REFUSAL],
  ['with the verb escalate', [rule(API_GROUP, 'clusterroles', 'escalate')], { object: role([getPods]) }, undefined],
  [
    'escalate on one name, at update',
    [rule(API_GROUP, 'clusterroles', 'escalate', ['x'])],
    { object: role([getPods]), oldObject: role([]), requestName: 'x' },
    undefined,
  ],
  [
    'escalate on one name does not reach creation',
    [rule(API_GROUP, 'clusterroles', 'escalate', ['x'])],
    { object: role([getPods]) },
    REFUSAL,
  ],
  ['a master', [], { user: { name: 'root', groups: ['system:masters'] }, object: role([getPods]) }, undefined],
  [
    'taking finalizers away',
    [],
    {
      object: role([getPods]),
      oldObject: { ...role([getPods]), metadata: { name: 'x', finalizers: ['f'] } } as KubernetesObject,
      requestName: 'x',
    },
    undefined,
  ],
  [
    'an unchanged role one does not hold',
    [],
    {
      object: role([getPods], { metadata: { name: 'x', labels: { a: 'b' } } }),
      oldObject: role([getPods]),
      requestName: 'x',
    },
    REFUSAL,
  ],
  [
    'aggregation',
    [getPods],
    { object: role([], { aggregationRule: { clusterRoleSelectors: [{}] } }) },
    'must have cluster-admin privileges to use the aggregationRule',
  ],
  [
    'aggregation with everything',
    [rule('*', '*', '*'), { nonResourceURLs: ['*'], verbs: ['*'] }],
    { object: role([], { aggregationRule: { clusterRoleSelectors: [{}] } }) },
    undefined,
  ],
  ['binding a role one holds', [getPods], { resource: 'clusterrolebindings', object: bindingTo('reader') }, undefined],
  ['binding a role one does not hold', [], { resource: 'clusterrolebindings', object: bindingTo('reader') }, REFUSAL],
  [
    'with the verb bind',
    [rule(API_GROUP, 'clusterroles', 'bind', ['reader'])],
    { resource: 'rolebindings', namespace: 'ns', object: bindingTo('reader') },
    undefined,
  ],
];
for (const [name, held, attempt, wanted] of attempts) {
  test(`granting: ${name}`, async () => assert.equal(await fixture(held)(attempt), wanted));
}

test('binding a role that does not exist', async () => {
  await assert.rejects(
    fixture([])({ resource: 'clusterrolebindings', object: bindingTo('none') }),
    /clusterroles.rbac.authorization.k8s.io "none" not found/,
  );
});
