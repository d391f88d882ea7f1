import assert from 'node:assert/strict';
import { test } from 'node:test';
import { schemaOf, typeNames, typeSchema } from './schema.ts';
import type { StructSchema, TypeSchema } from './type-schema.ts';

function at(schema: TypeSchema, path: string): TypeSchema {
  let here = schema;
  for (const step of path.split('.')) {
    if (step === '*') here = here.kind === 'list' ? here.items : here.kind === 'map' ? here.values : assert.fail(path);
    else here = (here as StructSchema).fields.get(step)?.type ?? assert.fail(`${path}: no ${step}`);
  }
  return here;
}

test('a kind is found by group, version and kind', () => {
  assert.equal(schemaOf('apps', 'v1', 'Deployment')?.name, 'apps.v1.Deployment');
  assert.equal(schemaOf('', 'v1', 'PodList')?.name, 'core.v1.PodList');
  assert.equal(schemaOf('apps', 'v1', 'DeleteOptions')?.name, 'meta.v1.DeleteOptions');
  assert.equal(schemaOf('apps', 'v2', 'Deployment'), undefined);
});

test('fields have their list and map types', () => {
  const pod = schemaOf('', 'v1', 'Pod') as StructSchema;
  const ports = at(pod, 'spec.containers.*.ports');
  assert.deepEqual(ports.kind === 'list' && [ports.listType, ports.keys], ['map', ['containerPort', 'protocol']]);
  const selector = at(pod, 'spec.nodeSelector');
  assert.equal(selector.kind === 'map' && selector.atomic, true);
  const reference = at(typeSchema('core.v1.PersistentVolumeSpec'), 'claimRef');
  assert.equal(reference.kind === 'struct' && reference.atomic, false);
  assert.equal((typeSchema('core.v1.ObjectReference') as StructSchema).atomic, true);
  const volumes = (at(pod, 'spec') as StructSchema).fields.get('volumes');
  assert.deepEqual([volumes?.patchStrategies, volumes?.patchMergeKey], [['merge', 'retainKeys'], 'name']);
  assert.equal((at(pod, 'spec.containers.*.ports.*') as StructSchema).fields.get('protocol')?.default, 'TCP');
});

test('inlined fields have a path of protobuf numbers', () => {
  const rule = typeSchema('admissionregistration.v1.NamedRuleWithOperations') as StructSchema;
  assert.deepEqual(rule.fields.get('apiGroups')?.pb, [2, 2, 1]);
});

test('rules of admission policies omit the same fields in every version, because all embed those of v1', () => {
  const shape = (version: string): unknown[] => {
    const rule = typeSchema(`admissionregistration.${version}.NamedRuleWithOperations`) as StructSchema;
    return [...rule.fields].map(([name, { omitempty, pointer }]) => [name, omitempty, pointer]);
  };
  for (const version of ['v1alpha1', 'v1beta1']) assert.deepEqual(shape(version), shape('v1'), version);
});

test('every type can be expanded and every reference resolves', () => {
  const names = typeNames();
  assert.ok(names.length > 750);
  for (const name of names)
    for (const field of (typeSchema(name) as StructSchema).fields.values()) assert.ok(field.type.kind);
});
