/** Memory of deleted custom resource definitions: none may be retained, also when no client requests documents again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createNodeClock } from '../../platform/node/clock.ts';
import type { TestServer } from '../server-fixture.ts';
import { DEFINITIONS, settle, startCustomServer, widgetDefinition } from './custom-fixture.ts';

const COUNT = 5;

function definition(index: number): object {
  const group = `g${index}.example.com`;
  const names = { plural: 'things', kind: 'Thing' };
  const rules = [{ rule: "!has(self.text) || self.text.matches('^[a-z]*$')", message: 'not a word' }];
  const spec = {
    type: 'object',
    properties: { text: { type: 'string', maxLength: 9 } },
    'x-kubernetes-validations': rules,
  };
  return { ...widgetDefinition(spec, { group, names }), metadata: { name: `things.${group}` } };
}

/** Weak references to the server's objects of the definitions, by name. */
function watched({ storage }: TestServer): [name: string, reference: WeakRef<object>][] {
  const stores = [...storage.registry.served].filter(({ info }) => info.resource === 'things');
  assert.equal(stores.length, COUNT);
  return stores.flatMap((store): [string, WeakRef<object>][] => [
    [`store of ${store.info.group}`, new WeakRef(store)],
    [`schema of ${store.info.group}`, new WeakRef(store.definition.schema!)],
    [`cache of ${store.info.group}`, new WeakRef(store.cache)],
    [`description of ${store.info.group}`, new WeakRef(store.info)],
  ]);
}

async function use(server: TestServer): Promise<void> {
  for (let index = 0; index < COUNT; index++) {
    assert.equal((await server.send('POST', DEFINITIONS, definition(index))).status, 201);
    await settle();
    const group = `g${index}.example.com`;
    const path = `/apis/${group}/v1/namespaces/default/things`;
    const thing = { apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name: 'a' }, spec: { text: 'word' } };
    assert.equal((await server.send('POST', path, thing)).status, 201);
    assert.equal((await server.send('GET', path)).status, 200);
    assert.equal((await server.send('GET', `/openapi/v3/apis/${group}/v1`)).status, 200);
  }
  for (const path of ['/openapi/v2', '/openapi/v3', '/apis'])
    assert.equal((await server.send('GET', path)).status, 200);
}

test('no memory of deleted definitions is retained, although no client requests documents afterwards', async () => {
  const server = await startCustomServer();
  await use(server);
  const references = watched(server);
  for (let index = 0; index < COUNT; index++) {
    const { status } = await server.send('DELETE', `${DEFINITIONS}/things.g${index}.example.com`);
    assert.equal(status, 200);
    await settle();
  }
  await server.platform.clock.advance(180_000);
  assert.equal((await server.send('GET', DEFINITIONS)).body.items.length, 0);
  for (let turn = 0; turn < 3; turn++) await createNodeClock().yield(); // A WeakRef holds its object for the running turn.
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const kept = references.filter(([, reference]) => reference.deref() !== undefined).map(([name]) => name);
  assert.deepEqual(kept, []);
});

test('no metric names deleted definitions', async () => {
  const server = await startCustomServer();
  await use(server);
  const named = async (): Promise<readonly string[]> =>
    (await server.send('GET', '/metrics')).text.split('\n').filter((line) => /g\d\.example\.com/.test(line));
  assert.ok((await named()).length > 0);
  for (let index = 0; index < COUNT; index++) {
    assert.equal((await server.send('DELETE', `${DEFINITIONS}/things.g${index}.example.com`)).status, 200);
    await settle();
  }
  await server.platform.clock.advance(180_000);
  assert.deepEqual(await named(), []);
});
