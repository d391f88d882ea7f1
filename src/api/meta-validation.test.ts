import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OwnerReference } from './gen/meta-v1.ts';
import { validateObjectMeta } from './meta-validation.ts';
import { complaints } from './validation/complaints-fixture.ts';

const owner = (more: Partial<OwnerReference>): OwnerReference => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: 'a',
  uid: 'u',
  ...more,
});

function complaintsOf(...ownerReferences: OwnerReference[]): string[] {
  const rules = { namespaced: true, validateName: () => [] };
  return complaints((field) => validateObjectMeta({ name: 'n', namespace: 'ns', ownerReferences }, rules, field));
}

for (const [apiVersion, isVersion] of [
  ['v1', true],
  ['apps/v1', true],
  ['', false],
  ['apps/', false],
  ['a/b/c', false],
] as const)
  test(`an owner of ${JSON.stringify(apiVersion)} is ${isVersion ? 'taken' : 'refused'}`, () => {
    const problem = `ownerReferences.apiVersion: Invalid value: ${JSON.stringify(apiVersion)}: version must not be empty`;
    assert.deepEqual(complaintsOf(owner({ apiVersion })), isVersion ? [] : [problem]);
  });

test('the error about two controllers names their kinds', () => {
  const found = complaintsOf(owner({ controller: true }), owner({ kind: 'Pod', name: 'b', controller: true }));
  assert.equal(found.length, 1);
  assert.match(
    found[0]!,
    /Only one reference can have Controller set to true\. Found "true" in references for ConfigMap\/a and Pod\/b$/,
  );
});
