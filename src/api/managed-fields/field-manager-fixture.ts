/** Deployments that tests apply and update, and the owners of their fields. */
import assert from 'node:assert/strict';
import { canonicalize } from '../codec/canonical.ts';
import type { JsonObject } from '../codec/own-property.ts';
import { decodeTyped } from '../codec/typed.ts';
import type { ManagedFieldsEntry } from '../gen/meta-v1.ts';
import { schemaOf } from '../schema/schema.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import { apply, type ApplyResult } from './apply.ts';
import { trackUpdate } from './field-manager.ts';
import { fieldsOf, formatFieldPath, pathsOf } from './field-set.ts';

export const deployment = schemaOf('apps', 'v1', 'Deployment') as StructSchema;
const head = { apiVersion: 'apps/v1', kind: 'Deployment' };
export const common = {
  schema: deployment,
  apiVersion: 'apps/v1',
  time: '2024-01-01T00:00:00Z',
  resetFields: fieldsOf('status'),
};

export function config(spec: object, metadata: object = {}): JsonObject {
  return { ...head, metadata: { name: 'web', ...metadata }, spec };
}

export function applyAs(manager: string, live: JsonObject | undefined, object: JsonObject, force = false): ApplyResult {
  return apply(live, decodeTyped(deployment, object, { shape: 'sparse' }).object, { ...common, manager, force });
}

export function applied(result: ApplyResult): JsonObject {
  assert.equal(result.kind, 'applied', result.kind === 'conflict' ? result.message : '');
  return result.kind === 'applied' ? result.object : {};
}

export function updateAs(
  manager: string,
  live: JsonObject | undefined,
  object: JsonObject,
  more: object = {},
): JsonObject {
  return trackUpdate(live, canonicalize(deployment, object), { ...common, manager, ...more });
}

export function ownedBy(object: JsonObject, manager: string): string[] {
  const { managedFields = [] } = object['metadata'] as { managedFields?: ManagedFieldsEntry[] };
  const entry = managedFields.filter((m) => m.manager === manager);
  return entry.flatMap((m) => pathsOf(m.fieldsV1 as never).map(formatFieldPath));
}

export const specOf = (object: JsonObject): JsonObject => object['spec'] as JsonObject;
