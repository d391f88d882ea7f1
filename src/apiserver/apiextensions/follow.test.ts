/** Changes of definitions while watches run, with several servers, and with invalid input. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JSONSchemaProps } from '../../api/gen/apiextensions-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ObjectEvent } from '../../api/transport.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { createMemoryStore } from '../../storage/memory/memory-store.ts';
import { testPlatform, type TestServer } from '../server-fixture.ts';
import { createServerStorage } from '../server-storage.ts';
import {
  DEFINITIONS,
  settle,
  startCustomServer,
  startWithWidgets,
  versionOf,
  widget,
  WIDGETS,
  widgetDefinition,
} from './custom-fixture.ts';

async function watched(server: TestServer, query: string): Promise<AsyncIterator<readonly ObjectEvent[]>> {
  const response = await server.server.handler(
    server.request('GET', `${WIDGETS}?watch=true&${query}`, { wantsObjects: true }),
  );
  assert.equal(response.kind, 'watch');
  return response.events[Symbol.asyncIterator]();
}

test('a changed definition ends watches, which resume at their revision and receive objects of the new schema', async () => {
  const server = await startWithWidgets({ type: 'object', properties: { a: { type: 'string' } } });
  const { send } = server;
  const { body } = await send('POST', WIDGETS, widget('one', { a: 'x' }));
  const { resourceVersion } = body.metadata;
  const before = await watched(server, `resourceVersion=${resourceVersion}`);
  const current = (await send('GET', `${DEFINITIONS}/widgets.example.com`)).body;
  const labelled = { ...current, metadata: { ...current.metadata, labels: { a: 'b' } } };
  const kept = await send('PUT', `${DEFINITIONS}/widgets.example.com`, labelled);
  await settle();
  await send('POST', WIDGETS, widget('two', { a: 'y' }));
  const first = (await before.next()).value as readonly ObjectEvent[];
  assert.equal((first[0]!.object as KubernetesObject).metadata.name, 'two', 'labels of a definition end nothing');
  const properties: JSONSchemaProps['properties'] = { a: { type: 'string' }, b: { type: 'integer', default: 1 } };
  const versions = [versionOf('v1', { type: 'object', properties })];
  const changed = { ...kept.body, spec: { ...kept.body.spec, versions } };
  assert.equal((await send('PUT', `${DEFINITIONS}/widgets.example.com`, changed)).status, 200);
  await settle();
  assert.equal((await before.next()).done, true);
  const after = await watched(server, `resourceVersion=${resourceVersion}`);
  const missed = (await after.next()).value as readonly ObjectEvent[];
  const two = missed[0]!.object as KubernetesObject & { spec: unknown };
  assert.deepEqual([two.metadata.name, two.spec], ['two', { a: 'y', b: 1 }]);
  await after.return?.();
});

test('servers that share a store serve the definitions of each other', async () => {
  const platform = testPlatform();
  const store = createMemoryStore({ clock: platform.clock });
  const [one, two] = await Promise.all(
    [0, 1].map(() => startCustomServer({ storage: createServerStorage({ store, platform }) })),
  );
  await one!.send('POST', DEFINITIONS, widgetDefinition({ type: 'object' }));
  await settle();
  assert.equal((await two!.send('POST', WIDGETS, widget('a', {}))).status, 201);
  assert.equal((await one!.send('GET', `${WIDGETS}/a`)).status, 200);
  await two!.send('DELETE', `${DEFINITIONS}/widgets.example.com`);
  await settle();
  for (const server of [one!, two!]) assert.equal((await server.send('GET', WIDGETS)).status, 404);
});

const anything: readonly unknown[] = [
  null,
  0,
  -1,
  1.5,
  2 ** 40,
  'x',
  '',
  'a long text',
  true,
  [],
  {},
  [null],
  [1],
  ['a', 'a'],
  [{ name: 'a' }, { name: 'a' }],
  [{}],
  { k: { q: 's' } },
  { apiVersion: 1, kind: [], metadata: 5 },
  { apiVersion: 'v1', kind: 'Pod', metadata: { name: 5, labels: { a: 1 } } },
  { x: '1', y: '2' },
  { constructor: 1, toString: { a: 1 } },
];

const rich: JSONSchemaProps = {
  type: 'object',
  required: ['a'],
  properties: {
    a: { type: 'string', pattern: '^x', maxLength: 5, nullable: true },
    n: { type: 'integer', minimum: 0, multipleOf: 2, format: 'int32' },
    ports: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: {
        type: 'object',
        required: ['name'],
        properties: { name: { type: 'string' }, p: { 'x-kubernetes-int-or-string': true } },
      },
    },
    set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
    m: { type: 'object', additionalProperties: { type: 'object', properties: { q: { type: 'number', default: 1 } } } },
    t: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
    one: {
      type: 'object',
      properties: { x: { type: 'string' }, y: { type: 'string' } },
      oneOf: [{ required: ['x'] }, { required: ['y'] }],
      'x-kubernetes-validations': [{ rule: "self.?x.orValue('') != 'bad'" }],
    },
  },
};
const keys = [...Object.keys(rich.properties!), 'other', '__proto__', 'constructor'];

/** Counts responses by status. None may be a 5xx, although upstream answers 500 where an object cannot be typed. */
function counted(answers: Map<number, number>, { status, text }: { status: number; text: string }): void {
  assert.ok(status < 500 || text.includes('failed to create typed patch object'), text);
  answers.set(status, (answers.get(status) ?? 0) + 1);
}

test('bad instances and bad definitions are the sender’s fault', async (t) => {
  const random = createSeededRandom(7);
  const pick = <T>(from: readonly T[]): T => from[random.int(from.length)]!;
  const { send } = await startWithWidgets(rich);
  const answers = new Map<number, number>();
  for (let round = 0; round < 600; round++) {
    const spec: Record<string, unknown> = { a: 'x' };
    for (let changes = random.int(3); changes > 0; changes--)
      Object.defineProperty(spec, pick(keys), { value: pick(anything), enumerable: true, configurable: true });
    const name = `w${random.int(9)}`;
    const object = widget(name, random.int(20) === 0 ? pick(anything) : spec);
    const path = `${WIDGETS}/${name}`;
    const apply = { 'content-type': 'application/apply-patch+yaml' };
    const json = { 'content-type': 'application/json-patch+json' };
    counted(answers, await send('POST', WIDGETS, object));
    counted(answers, await send('PATCH', `${path}?fieldManager=f&force=true`, object, apply));
    const operation = { op: 'add', path: `/spec/${pick(keys)}`, value: pick(anything) };
    counted(answers, await send('PATCH', path, [operation], json));
  }
  const spoil = (value: unknown): unknown => {
    if (random.int(12) === 0) return pick(anything);
    if (Array.isArray(value)) return value.map(spoil);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .filter(() => random.int(20) > 0)
        .map(([key, inner]) => [key, spoil(inner)]),
    );
  };
  for (let round = 0; round < 300; round++) {
    const definition = widgetDefinition(rich, { names: { plural: 'gizmos', kind: 'Gizmo' } }) as { spec: unknown };
    const spoiled = { ...definition, metadata: { name: 'gizmos.example.com' }, spec: spoil(definition.spec) };
    const answer = await send('POST', DEFINITIONS, spoiled);
    counted(answers, answer);
    if (answer.status !== 201) continue;
    await settle();
    counted(answers, await send('GET', '/openapi/v3/apis/example.com/v1'));
    counted(answers, await send('DELETE', `${DEFINITIONS}/gizmos.example.com`));
    await settle();
  }
  assert.ok((answers.get(422) ?? 0) > 100 && (answers.get(400) ?? 0) > 100 && (answers.get(201) ?? 0) > 3);
  t.diagnostic([...answers].map(([status, count]) => `${status}: ${count}`).join(', '));
});
