/**
 * Maps whose keys are names of properties that every JavaScript object inherits: a look-up beyond own properties would find
 * functions.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { stringifyJson } from '../../src/api/codec/json.ts';
import { setOwn, type JsonObject } from '../../src/api/codec/own-property.ts';
import { apiVersionOf, type ResourceInfo } from '../../src/api/resource-info.ts';
import { StatusError } from '../../src/api/status-error.ts';
import { sampleOf, seededDraw } from '../../src/api/schema/sample-fixture.ts';
import { schemaOf } from '../../src/api/schema/schema.ts';
import type { TypeSchema } from '../../src/api/schema/type-schema.ts';
import { Cluster } from '../../src/testing/cluster.ts';
import { minimalObjects } from './generators/minimal-objects.ts';
import { resources } from './generators/objects.ts';

const inherited = Object.getOwnPropertyNames(Object.prototype);
const draw = seededDraw(1);

/** Copies of a value, in each of which one map, existing or not, has the inherited names. */
function* variants(type: TypeSchema, value: unknown): Generator<unknown> {
  if (type.kind === 'list' && Array.isArray(value)) {
    for (const [at, item] of value.entries())
      for (const variant of variants(type.items, item)) yield value.with(at, variant);
  } else if (type.kind === 'map') {
    const made: JsonObject = { ...(value as JsonObject | undefined) };
    for (const name of inherited) setOwn(made, name, sampleOf(type.values, draw, 2));
    yield made;
  } else if (type.kind === 'struct') {
    const object = (value ?? {}) as JsonObject;
    for (const field of type.fields.values()) {
      if (value === undefined && field.type.kind !== 'map') continue;
      for (const variant of variants(field.type, object[field.name])) yield { ...object, [field.name]: variant };
    }
  }
}

describe('maps with inherited names as keys', () => {
  let cluster: Cluster;
  before(async () => {
    cluster = await Cluster.start({ clock: 'virtual', nodes: 0 });
  });
  after(() => cluster?.stop());

  for (const info of resources as readonly ResourceInfo[]) {
    const schema = schemaOf(info.group, info.version, info.kind);
    if (schema === undefined || !info.verbs.includes('create')) continue;
    test(`${apiVersionOf(info)} ${info.kind}`, async () => {
      const minimal = minimalObjects[info.kind] ?? {};
      const object = { apiVersion: apiVersionOf(info), kind: info.kind, ...minimal };
      const metadata = { name: 'inherited', namespace: 'default', ...(minimal['metadata'] as JsonObject | undefined) };
      for (const variant of variants(schema, { ...object, metadata }))
        for (const dryRun of [true, false]) await send(info, JSON.parse(stringifyJson(variant)) as JsonObject, dryRun);
    });
  }

  async function send(info: ResourceInfo, body: JsonObject, dryRun: boolean): Promise<void> {
    const place = info.namespaced ? 'namespaces/default/' : '';
    const path = `/${info.group === '' ? 'api' : 'apis'}/${apiVersionOf(info)}/${place}${info.resource}`;
    try {
      await cluster.client.raw({ method: 'POST', path: `${path}${dryRun ? '?dryRun=All' : ''}`, body });
    } catch (error) {
      assert.ok(error instanceof StatusError, String(error));
      assert.ok(error.code < 500 || error.code === 503, `${error.message}\n${JSON.stringify(body)}`);
    }
  }
});
