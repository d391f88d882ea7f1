import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Subject } from '../../api/gen/rbac-v1.ts';
import { ClusterRoleBindings, ClusterRoles, RoleBindings, Roles } from '../../api/gen/resources.ts';
import type { Principal } from '../../api/transport.ts';
import type { AuthorizationAttributes } from './contract.ts';
import { createRbacAuthorizer } from './rbac-authorizer.ts';
import { createTestObjects } from './objects-fixture.ts';

const API_GROUP = 'rbac.authorization.k8s.io';
const reader = { apiGroups: [''], resources: ['pods'], verbs: ['get'] };
const asked = (user: Principal, more: Partial<AuthorizationAttributes> = {}): AuthorizationAttributes => ({
  user,
  verb: 'get',
  isResourceRequest: true,
  apiGroup: '',
  apiVersion: 'v1',
  namespace: 'ns',
  resource: 'pods',
  subresource: '',
  name: 'a',
  path: '',
  ...more,
});
const binding = (name: string, subject: Subject, role: string, namespace?: string) => ({
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  subjects: [subject],
  roleRef: { apiGroup: API_GROUP, kind: role.startsWith('c-') ? 'ClusterRole' : 'Role', name: role },
});

function fixture() {
  const objects = createTestObjects();
  const rbac = createRbacAuthorizer(objects.store);
  objects.put(ClusterRoles, { metadata: { name: 'c-reader' }, rules: [reader] });
  objects.put(Roles, { metadata: { name: 'r-reader', namespace: 'ns' }, rules: [reader] });
  return {
    objects,
    rbac,
    decide: (a: AuthorizationAttributes) => rbac.authorize(a) as { decision: string; reason: string },
  };
}
const ann: Principal = { name: 'ann', groups: ['dev'] };
const bot: Principal = { name: 'system:serviceaccount:ns:bot', groups: ['system:serviceaccounts'] };

test('subjects: users, groups and service accounts', () => {
  const cases: readonly [Subject, Principal, boolean][] = [
    [{ kind: 'User', name: 'ann' }, ann, true],
    [{ kind: 'User', name: 'bob' }, ann, false],
    [{ kind: 'Group', name: 'dev' }, ann, true],
    [{ kind: 'Group', name: 'ann' }, ann, false],
    [{ kind: 'ServiceAccount', name: 'bot', namespace: 'ns' }, bot, true],
    [{ kind: 'ServiceAccount', name: 'bot', namespace: 'other' }, bot, false],
    [{ kind: 'User', name: bot.name }, bot, true],
  ];
  for (const [subject, user, wanted] of cases) {
    const { objects, decide } = fixture();
    objects.put(ClusterRoleBindings, binding('b', subject, 'c-reader'));
    assert.equal(decide(asked(user)).decision, wanted ? 'allow' : 'noOpinion', JSON.stringify(subject));
  }
});

test('a role binding counts in its namespace only, also with a cluster role', () => {
  for (const role of ['r-reader', 'c-reader']) {
    const { objects, decide } = fixture();
    objects.put(RoleBindings, binding('b', { kind: 'User', name: 'ann' }, role, 'ns'));
    assert.equal(decide(asked(ann)).decision, 'allow');
    assert.equal(decide(asked(ann, { namespace: 'other' })).decision, 'noOpinion');
    assert.equal(decide(asked(ann, { namespace: '' })).decision, 'noOpinion');
  }
});

test("a service account without a namespace is of the binding's", () => {
  const { objects, decide } = fixture();
  objects.put(RoleBindings, binding('b', { kind: 'ServiceAccount', name: 'bot' }, 'r-reader', 'ns'));
  assert.equal(decide(asked(bot)).decision, 'allow');
});

test('the reason names the binding', () => {
  const { objects, decide } = fixture();
  objects.put(ClusterRoleBindings, binding('all', { kind: 'Group', name: 'dev' }, 'c-reader'));
  assert.equal(
    decide(asked(ann)).reason,
    'RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "c-reader" to Group "dev"',
  );
  objects.put(
    RoleBindings,
    binding('bots', { kind: 'ServiceAccount', name: 'bot', namespace: 'ns' }, 'r-reader', 'ns'),
  );
  assert.equal(
    decide(asked(bot)).reason,
    'RBAC: allowed by RoleBinding "bots/ns" of Role "r-reader" to ServiceAccount "bot/ns"',
  );
});

test('a missing role is named in the refusal', () => {
  const { objects, decide } = fixture();
  objects.put(ClusterRoleBindings, binding('b', { kind: 'User', name: 'ann' }, 'c-none'));
  assert.deepEqual(decide(asked(ann)), {
    decision: 'noOpinion',
    reason: 'RBAC: clusterrole.rbac.authorization.k8s.io "c-none" not found',
  });
});

test('changes count at once', () => {
  const { objects, decide } = fixture();
  objects.put(ClusterRoleBindings, binding('b', { kind: 'User', name: 'ann' }, 'c-reader'));
  objects.put(ClusterRoleBindings, binding('b', { kind: 'User', name: 'bob' }, 'c-reader'));
  assert.equal(decide(asked(ann)).decision, 'noOpinion');
  assert.equal(decide(asked({ name: 'bob', groups: [] })).decision, 'allow');
  objects.put(ClusterRoles, { metadata: { name: 'c-reader' }, rules: [] });
  assert.equal(decide(asked({ name: 'bob', groups: [] })).decision, 'noOpinion');
  objects.put(ClusterRoles, { metadata: { name: 'c-reader' }, rules: [reader] });
  objects.remove(ClusterRoleBindings, '', 'b');
  assert.equal(decide(asked({ name: 'bob', groups: [] })).decision, 'noOpinion');
});

test('rulesFor collects the rules that apply in a namespace', () => {
  const { objects, rbac } = fixture();
  objects.put(ClusterRoleBindings, binding('b', { kind: 'Group', name: 'dev' }, 'c-reader'));
  objects.put(RoleBindings, binding('b', { kind: 'User', name: 'ann' }, 'r-reader', 'ns'));
  assert.equal(rbac.rulesFor(ann, 'ns').length, 2);
  assert.equal(rbac.rulesFor(ann, '').length, 1);
});

test('a role with many bindings is evaluated once, and bindings of other namespaces not at all', () => {
  const { objects, rbac, decide } = fixture();
  const everybody: Subject = { kind: 'Group', name: 'dev' };
  for (let index = 0; index < 1000; index++) {
    objects.put(RoleBindings, binding(`b-${index}`, everybody, 'r-reader', 'ns'));
    objects.put(RoleBindings, binding(`b-${index}`, everybody, 'r-reader', 'other'));
  }
  let reads = 0;
  const { get } = objects.store;
  (objects.store as { get: unknown }).get = (...args: Parameters<typeof get>) => {
    reads++;
    return get(...args);
  };
  assert.equal(decide(asked(ann, { verb: 'delete' })).decision, 'noOpinion');
  assert.equal(reads, 1);
  assert.deepEqual(rbac.rulesFor(ann, 'ns'), [reader]);
  reads = 0;
  assert.equal(decide(asked(ann, { namespace: 'third' })).decision, 'noOpinion');
  assert.equal(reads, 0);
});

test('a deleted binding leaves the grants of other bindings of the role', () => {
  const { objects, decide } = fixture();
  const dev: Subject = { kind: 'Group', name: 'dev' };
  objects.put(RoleBindings, binding('a', dev, 'r-reader', 'ns'), binding('b', dev, 'r-reader', 'ns'));
  objects.remove(RoleBindings, 'ns', 'a');
  assert.match(decide(asked(ann)).reason, /RoleBinding "b\/ns"/);
  objects.remove(RoleBindings, 'ns', 'b');
  assert.equal(decide(asked(ann)).decision, 'noOpinion');
});

test('a refusal names the first of many roles that are missing', () => {
  const { objects, decide } = fixture();
  for (let index = 0; index < 500; index++)
    objects.put(RoleBindings, binding(`b-${index}`, { kind: 'User', name: 'ann' }, `gone-${index}`, 'ns'));
  const { reason } = decide(asked(ann));
  assert.match(reason, /"gone-0" not found, .*"gone-19" not found, and 480 more\]$/);
  assert.ok(reason.length < 2000);
});
