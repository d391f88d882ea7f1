import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutBookKeeping } from './yaml-text.ts';

test('managed fields and the revision of an object are removed, other fields of the same name are kept', () => {
  const yaml = (managers: string): string =>
    `apiVersion: v1\ndata:\n  managedFields: mine\n  resourceVersion: mine\nkind: ConfigMap\nmetadata:\n${managers}  name: a\n`;
  const kept = yaml('');
  assert.equal(withoutBookKeeping(yaml('  managedFields:\n  - apiVersion: v1\n    fieldsV1:\n      f:a: {}\n')), kept);
  assert.equal(withoutBookKeeping(yaml('  managedFields:\n    - apiVersion: v1\n      manager: x\n')), kept);
  assert.equal(withoutBookKeeping(yaml('  resourceVersion: "4"\n')), kept);
});
