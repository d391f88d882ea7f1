import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { typeErrors } from '../api/managed-fields/typed-value.ts';
import { typeSchema } from '../api/schema/schema.ts';
import type { StructSchema } from '../api/schema/type-schema.ts';
import { startWithAll } from './all-resources-fixture.ts';

const UNDECLARED = 'field not declared in schema';
const container = { name: 'c', image: 'i' };

function pod(extra: object, spec: object = {}): object {
  const metadata = { name: 'p', namespace: 'default' };
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [container], ...spec }, ...extra };
}

describe('server-side apply refuses unknown fields, without a reason, whatever the field validation', () => {
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
    ['several of one object: the first', pod({ a: 1, b: 2 }), `.a: ${UNDECLARED}`],
    [
      'of several objects',
      pod({ a: 1 }, { tolerations: [{ b: 1 }], c: 1 }),
      `errors:\n  .spec.tolerations[0].b: ${UNDECLARED}\n  .spec.c: ${UNDECLARED}\n  .a: ${UNDECLARED}`,
    ],
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
        assert.equal(status, 500);
        assert.equal(body.reason, undefined);
        const text = `failed to create typed patch object (default/p; /v1, Kind=Pod): ${problem}`;
        assert.equal(body.message, text);
      });
});

describe('server-side apply refuses values of another form than their field has, in the words of v1.36.2', () => {
  const value = (go: string): string => `&value.valueUnstructured{Value:${go}}`;
  const c = (more: object): object => ({ containers: [{ name: 'c', ...more }] });
  const cases: readonly (readonly [spec: object, problem: string])[] = [
    [{ containers: { name: 'a' } }, '.spec.containers: expected list, got &{map[name:a]}'],
    [{ hostNetwork: 'yes' }, '.spec.hostNetwork: expected boolean, got &{yes}'],
    [{ tolerations: [3] }, '.spec.tolerations[0]: expected map, got &{3}'],
    [{ nodeSelector: { a: 3 } }, `.spec.nodeSelector.a: expected string, got ${value('3')}`],
    [{ containers: [{ name: 1 }] }, `.spec.containers[name=1].name: expected string, got ${value('1')}`],
    [
      c({ image: { b: 'q', a: [1, 'x', null, true, 1.5, {}] } }),
      `.spec.containers[name="c"].image: expected string, got ${value('map[string]interface {}{"a":[]interface {}{1, "x", interface {}(nil), true, 1.5, map[string]interface {}{}}, "b":"q"}')}`,
    ],
    [
      c({ ports: [{ containerPort: 'x' }] }),
      '.spec.containers[name="c"].ports[containerPort="x",protocol="TCP"].containerPort: expected numeric (int or float), got string',
    ],
    [
      c({ resources: { limits: { cpu: { a: 1 } } } }),
      '.spec.containers[name="c"].resources.limits.cpu: expected any scalar, got &{map[a:1]}',
    ],
    [{ containers: [3] }, '.spec.containers: element 0: associative list with keys may not have non-map elements'],
    [{ containers: [{ name: 'a' }, { name: 'a' }] }, '.spec.containers: duplicate entries for key [name="a"]'],
  ];
  for (const [spec, problem] of cases)
    it(problem, async () => {
      const { send } = await startWithAll();
      const config = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'p' },
        spec: { containers: [container], ...spec },
      };
      const type = { 'content-type': 'application/apply-patch+yaml' };
      const { status, body } = await send('PATCH', '/api/v1/namespaces/default/pods/p?fieldManager=m', config, type);
      assert.equal(body.message, `failed to create typed patch object (/p; /v1, Kind=Pod): ${problem}`);
      assert.equal(status, 500);
    });

  it('items of sets that are objects, and values of a custom resource', async () => {
    const { send } = await startWithAll();
    const type = { 'content-type': 'application/apply-patch+yaml' };
    const finalizers = ['a', 'a', { x: 1 }];
    const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm', finalizers }, binaryData: { a: 3 } };
    const { body } = await send('PATCH', '/api/v1/namespaces/default/configmaps/m?fieldManager=m', config, type);
    assert.equal(
      body.message,
      `failed to create typed patch object (/m; /v1, Kind=ConfigMap): errors:
  .metadata.finalizers: duplicate entries for key [="a"]
  .metadata.finalizers: element 2: associative list without keys has an element that's a map type
  .binaryData.a: expected string, got ${value('3')}`,
    );
  });
});

describe('errors of many parts', () => {
  it('a hundred of them are named', () => {
    const fields = Object.fromEntries(Array.from({ length: 25_000 }, (_, at) => [`k${at}`, 1]));
    const schema = typeSchema('core.v1.Pod') as StructSchema;
    const tolerations = Array.from({ length: 25_000 }, () => ({ foo: 1 }));
    for (const config of [pod({}, { tolerations }), pod({}, { nodeSelector: fields })])
      assert.equal(typeErrors(schema, config)!.split('\n').length, 101);
  });
});
