import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validateClusterRoleBinding, validateRoleBinding } from './rbac.ts';
import { complaints } from './complaints-fixture.ts';

test("invalid role bindings have upstream's errors", () => {
  const binding = {
    metadata: {},
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
    subjects: [{ kind: 'ServiceAccount', name: 'a' }],
  };
  assert.deepEqual(
    complaints((field) => validateRoleBinding(binding, field)),
    [],
  );
  const missing = complaints((field) =>
    validateClusterRoleBinding({ ...binding, roleRef: { ...binding.roleRef, kind: 'ClusterRole' } }, field),
  );
  assert.deepEqual(missing, ['subjects[0].namespace: Required value']);
  const apiGroup = 'rbac.authorization.k8s.io';
  const nameless = { ...binding, subjects: ['User', 'Group'].map((kind) => ({ kind, apiGroup, name: '' })) };
  assert.deepEqual(
    complaints((field) => validateRoleBinding(nameless, field)),
    ['subjects[0].name: Required value', 'subjects[1].name: Required value'],
  );
});
