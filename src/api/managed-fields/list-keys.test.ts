import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allResources } from '../gen/resources.ts';
import { schemaOf } from '../schema/schema.ts';
import type { ListSchema, TypeSchema } from '../schema/type-schema.ts';
import { apply } from './apply.ts';
import { itemElement, ListKeyError } from './path-element.ts';

/** All lists with keys within a type, by the type name of their items. */
function listsBelow(type: TypeSchema, seen: Set<TypeSchema>, out: Map<string, ListSchema>): void {
  if (seen.has(type)) return;
  seen.add(type);
  if (type.kind === 'struct') for (const field of type.fields.values()) listsBelow(field.type, seen, out);
  if (type.kind === 'map') listsBelow(type.values, seen, out);
  if (type.kind !== 'list') return;
  if (type.listType === 'map' && type.items.kind === 'struct') out.set(type.items.name, type);
  listsBelow(type.items, seen, out);
}

function builtInLists(): Map<string, ListSchema> {
  const lists = new Map<string, ListSchema>();
  const seen = new Set<TypeSchema>();
  for (const { group, version, kind } of allResources) {
    const schema = schemaOf(group, version, kind);
    if (schema !== undefined) listsBelow(schema, seen, lists);
  }
  return lists;
}

/** Defaults of keys by upstream's schema of apply configurations; all other keys are texts with the empty default. */
const OTHER_KEYS: Readonly<Record<string, string | undefined>> = {
  'apiserverinternal.v1alpha1.ServerStorageVersion': undefined,
  'core.v1.ContainerPort': '{"containerPort":0,"protocol":"TCP"}',
  'core.v1.ObjectReference': undefined,
  'core.v1.ServicePort': '{"port":0,"protocol":"TCP"}',
  'flowcontrol.v1.FlowSchemaCondition': undefined,
  'flowcontrol.v1.PriorityLevelConfigurationCondition': undefined,
};
const WITHOUT_DEFAULT = new Set(['shareID']);

function elementOfEmptyItem(list: ListSchema): string | undefined {
  try {
    return itemElement(list, {});
  } catch (error) {
    assert.ok(error instanceof ListKeyError);
    return undefined;
  }
}

test('an item without its keys is identified by the defaults of upstream’s schema', () => {
  const lists = builtInLists();
  assert.ok(lists.size > 50);
  const expected = [...lists].map(([name, { keys }]) => {
    if (Object.hasOwn(OTHER_KEYS, name)) return [name, OTHER_KEYS[name] && `k:${OTHER_KEYS[name]}`];
    const sorted = keys.filter((key) => !WITHOUT_DEFAULT.has(key)).sort();
    return [name, `k:${JSON.stringify(Object.fromEntries(sorted.map((key) => [key, ''])))}`];
  });
  assert.deepEqual(
    [...lists].map(([name, list]) => [name, elementOfEmptyItem(list)]),
    expected,
  );
});

test('an apply of a pull secret without a name owns it by the empty name', () => {
  const pod = schemaOf('', 'v1', 'Pod')!;
  const config = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { imagePullSecrets: [{}, { name: 'a' }] },
  };
  const request = { schema: pod, apiVersion: 'v1', time: '2024-01-01T00:00:00Z', manager: 'm', force: false };
  const result = apply(undefined, config, request);
  assert.ok(result.kind === 'applied');
  assert.deepEqual(result.managedFields[0]!.fieldsV1, {
    'f:spec': { 'f:imagePullSecrets': { 'k:{"name":""}': {}, 'k:{"name":"a"}': {} } },
  });
});
