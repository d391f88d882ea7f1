import assert from 'node:assert/strict';
import { test } from 'node:test';
import { builtInType } from './built-in-types.ts';
import { typeCheckPolicy } from './type-check.ts';
import { allResources } from '../gen/resources.ts';
import { compile } from './compile.ts';
import { createEnvironment } from './environment.ts';

const rule = { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['*'], resources: ['deployments'] };

function warnings(expression: string, more: object = {}): string[] {
  const spec = { matchConstraints: { resourceRules: [rule] }, validations: [{ expression }], ...more };
  return typeCheckPolicy({ metadata: { name: 'p' }, spec }).map(({ fieldRef, warning }) => `${fieldRef} ${warning}`);
}

test('expressions are checked against the kinds that the rules name', () => {
  const place = 'spec.validations[0].expression';
  assert.deepEqual(warnings('object.spec.replicas <= 5'), []);
  assert.deepEqual(warnings('object.replicas <= 5'), [
    `${place} apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'replicas'\n | object.replicas <= 5\n | ......^\n`,
  ]);
  assert.match(
    warnings('object.spec.replicas == "a"')[0] ?? '',
    /found no matching overload for '_==_' applied to '\(int, string\)'/,
  );
  assert.deepEqual(
    warnings('object.spec.template.spec.containers.all(c, c.image.startsWith("a") && has(c.resources.limits))'),
    [],
  );
  assert.match(
    warnings('variables.c.nope', { variables: [{ name: 'c', expression: 'object.spec' }] })[0] ?? '',
    /undefined field 'nope'/,
  );
  assert.match(
    warnings('params.nope == 1', { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } })[0] ?? '',
    /undefined field 'nope'/,
  );
  assert.deepEqual(warnings('params.anything', { paramKind: { apiVersion: 'x.io/v1', kind: 'X' } }), []);
  const any = { matchConstraints: { resourceRules: [{ ...rule, apiGroups: ['*'] }] } };
  assert.deepEqual(warnings('object.replicas <= 5', any), []);
});

test('every built-in kind has a type, with metadata', () => {
  for (const { group, version, kind } of allResources) {
    const type = builtInType(group, version, kind);
    const hasMetadata = type?.fields?.some(({ json }) => json === 'metadata') ?? false;
    if (!hasMetadata) continue;
    const environment = createEnvironment({ object: type!.type });
    assert.equal(compile('object.metadata.name', { environment }).type.kind, 'string', kind);
  }
});
