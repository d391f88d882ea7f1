/** Managers of versions that a built-in kind does not have any more. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../codec/own-property.ts';
import { schemaOf } from '../schema/schema.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import { apply } from './apply.ts';
import { applied, common } from './field-manager-fixture.ts';

const schema = schemaOf('autoscaling', 'v2', 'HorizontalPodAutoscaler') as StructSchema;
const request = {
  ...common,
  schema,
  apiVersion: 'autoscaling/v2',
  versions: new Map([['autoscaling/v2', { schema }]]),
};
const autoscaler = (maxReplicas: number, managedFields?: readonly object[]): JsonObject => ({
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'a', ...(managedFields === undefined ? {} : { managedFields }) },
  spec: { scaleTargetRef: { kind: 'Deployment', name: 'web' }, maxReplicas },
});

for (const [operation, manager] of [
  ['Update', 'former'],
  ['Apply', 'me'],
])
  test(`an apply forgets a manager of operation ${operation} and a version that is not served any more`, () => {
    const entry = { fieldsType: 'FieldsV1', fieldsV1: { 'f:spec': { 'f:maxReplicas': {} } } };
    const stored = autoscaler(5, [{ manager, operation, apiVersion: 'autoscaling/v2beta2', ...entry }]);
    const { metadata } = applied(apply(stored, autoscaler(6), { ...request, manager: 'me', force: false }));
    const { managedFields } = metadata as { managedFields: readonly { manager: string; apiVersion: string }[] };
    assert.deepEqual(
      managedFields.map((one) => [one.manager, one.apiVersion]),
      [['me', 'autoscaling/v2']],
    );
  });
