import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../codec/own-property.ts';
import { decodeTyped } from '../codec/typed.ts';
import { schemaOf } from '../schema/schema.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import { apply } from './apply.ts';
import { applied, applyAs, common, config, ownedBy, specOf, updateAs } from './field-manager-fixture.ts';

const CPU = '.spec.template.spec.containers[name="c"].resources.requests.cpu';

function requesting(cpu: unknown): JsonObject {
  return config({ template: { spec: { containers: [{ name: 'c', resources: { requests: { cpu } } }] } } });
}

function cpuOf(object: JsonObject): unknown {
  const { template } = specOf(object) as { template: { spec: { containers: { resources: unknown }[] } } };
  return template.spec.containers[0]!.resources;
}

for (const cpu of ['1000m', 1])
  test(`a quantity written as ${JSON.stringify(cpu)} is another value than the stored "1" of another manager`, () => {
    const live = updateAs('other', undefined, requesting('1'));
    const result = applyAs('me', live, requesting(cpu));
    assert.deepEqual(result.kind === 'conflict' && result.causes.map(({ field }) => field), [CPU]);
    const forced = applied(applyAs('me', live, requesting(cpu), true));
    assert.deepEqual(cpuOf(forced), { requests: { cpu: '1' } });
    assert.deepEqual(ownedBy(forced, 'other').includes(CPU), false);
  });

test('a quantity that is applied again in another form than the stored one changes nothing', () => {
  const live = applied(applyAs('me', undefined, requesting('1000m')));
  assert.deepEqual(cpuOf(live), { requests: { cpu: '1' } });
  assert.equal(applied(applyAs('me', live, requesting('1000m'))), live);
});

test('bytes and times are compared as they are written, too', () => {
  const secrets = { ...common, schema: schemaOf('', 'v1', 'Secret') as StructSchema, apiVersion: 'v1', force: false };
  const secret = (data: string, time: string): JsonObject => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's', deletionTimestamp: time },
    data: { a: data },
  });
  const as = (manager: string, live: JsonObject | undefined, object: JsonObject): ReturnType<typeof apply> =>
    apply(live, decodeTyped(secrets.schema, object, { shape: 'sparse' }).object, { ...secrets, manager });
  const live = applied(as('other', undefined, secret('AAEC', '2024-03-01T00:00:00Z')));
  const result = as('me', live, secret('AAEC\n', '2024-03-01T01:00:00+01:00'));
  assert.deepEqual(result.kind === 'conflict' && result.causes.map(({ field }) => field), [
    '.data.a',
    '.metadata.deletionTimestamp',
  ]);
});
