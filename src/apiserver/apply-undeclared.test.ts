import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { undeclaredFields } from '../api/managed-fields/declared-fields.ts';
import { typeSchema } from '../api/schema/schema.ts';
import type { StructSchema } from '../api/schema/type-schema.ts';
import { startWithAll } from './all-resources-fixture.ts';

const UNDECLARED = 'field not declared in schema';
const container = { name: 'c', image: 'i' };

function pod(extra: object, spec: object = {}): object {
  const metadata = { name: 'p', namespace: 'default' };
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [container], ...spec }, ...extra };
}

describe('server-side apply refuses fields that the kind does not have, whatever field validation asks for', () => {
  const cases: readonly (readonly [string, object, string])[] = [
    ['at the top', pod({ foo: 1 }), `.foo: ${UNDECLARED}`],
    ['in metadata', pod({ metadata: { name: 'p', namespace: 'default', foo: 1 } }), `.metadata.foo: ${UNDECLARED}`],
    ['in a part', pod({}, { foo: { bar: 1 } }), `.spec.foo: ${UNDECLARED}`],
    [
      'in an item with a key',
      pod({}, { containers: [{ ...container, foo: 1 }] }),
      `.spec.containers[name="c"].foo: ${UNDECLARED}`,
    ],
    ['in an item without', pod({}, { tolerations: [{ foo: 1 }] }), `.spec.tolerations[0].foo: ${UNDECLARED}`],
    ['several', pod({ a: 1, b: 2 }), `errors:\n  .a: ${UNDECLARED}\n  .b: ${UNDECLARED}`],
  ];
  for (const [where, config, problem] of cases)
    for (const validation of ['Strict', 'Warn', 'Ignore'])
      it(`${where}, ${validation}`, async () => {
        const { send } = await startWithAll();
        const { status, body } = await send(
          'PATCH',
          `/api/v1/namespaces/default/pods/p?fieldManager=m&fieldValidation=${validation}`,
          config,
          { 'content-type': 'application/apply-patch+yaml' },
        );
        assert.equal(status, 400);
        const text = `failed to create typed patch object (default/p; /v1, Kind=Pod): ${problem}`;
        assert.equal(body.message, text);
      });
});

describe('fields that are not declared', () => {
  it('a hundred of many are named', () => {
    const fields = Object.fromEntries(Array.from({ length: 25_000 }, (_, at) => [`k${at}`, 1]));
    const schema = typeSchema('core.v1.Pod') as StructSchema;
    for (const config of [pod(fields), pod({}, { tolerations: Array.from({ length: 25_000 }, () => ({ foo: 1 })) })])
      assert.equal(undeclaredFields(schema, config)!.split('\n').length, 101);
  });
});
