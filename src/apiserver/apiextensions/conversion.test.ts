import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesObject } from '../../api/object.ts';
import type { ObjectEvent } from '../../api/transport.ts';
import { createMemoryStore } from '../../storage/memory/memory-store.ts';
import { createHistoryHere } from '../../storage/sqlite/history/history-here-fixture.ts';
import { testPlatform, type TestServer } from '../server-fixture.ts';
import { createServerStorage, type ServerStorage } from '../server-storage.ts';
import type { PostConversionReview } from './conversion.ts';
import {
  DEFINITIONS,
  settle,
  startCustomServer,
  versionOf,
  widget,
  WIDGETS,
  widgetDefinition,
} from './custom-fixture.ts';

const V2 = '/apis/example.com/v2/namespaces/default/widgets';
type Sized = KubernetesObject & { spec: { size?: number; dimensions?: { size: number } } };

/** v1 has `size`, v2 `dimensions.size`. */
function converted(object: Sized, apiVersion: string): object {
  const size = object.spec.size ?? object.spec.dimensions?.size ?? 0;
  return { ...object, apiVersion, spec: apiVersion.endsWith('v1') ? { size } : { dimensions: { size } } };
}

interface Converter {
  readonly post: PostConversionReview;
  calls: number;
  fails: string | undefined;
}

function converter(): Converter {
  const made: Converter = {
    calls: 0,
    fails: undefined,
    post: async (_, review) => {
      made.calls++;
      const { uid, desiredAPIVersion, objects } = review['request'] as {
        uid: string;
        desiredAPIVersion: string;
        objects: Sized[];
      };
      if (made.fails !== undefined)
        return { ...review, response: { uid, result: { status: 'Failed', message: made.fails } } };
      const convertedObjects = objects.map((object) => converted(object, desiredAPIVersion));
      return { ...review, response: { uid, result: { status: 'Success' }, convertedObjects } };
    },
  };
  return made;
}

async function start(storage?: ServerStorage): Promise<{ server: TestServer; webhook: Converter }> {
  const webhook = converter();
  const server = await startCustomServer({ postConversionReview: webhook.post, ...(storage && { storage }) });
  const dimensions = { type: 'object', properties: { size: { type: 'integer' } } };
  const definition = widgetDefinition(
    {},
    {
      versions: [
        versionOf('v1', { type: 'object', properties: { size: { type: 'integer' } } }, { storage: false }),
        versionOf('v2', { type: 'object', properties: { dimensions } }),
      ],
      conversion: {
        strategy: 'Webhook',
        webhook: { clientConfig: { url: 'https://hook.example.com' }, conversionReviewVersions: ['v1'] },
      },
    },
  );
  const { status, text } = await server.send('POST', DEFINITIONS, definition);
  assert.equal(status, 201, text);
  await settle();
  return { server, webhook };
}

test('objects are written, read, listed and changed in any version', async () => {
  const { server, webhook } = await start();
  const { send } = server;
  const made = await send('POST', WIDGETS, widget('a', { size: 3 }));
  assert.deepEqual([made.status, made.body.spec], [201, { size: 3 }], made.text);
  const stored = await send('GET', `${V2}/a`);
  assert.deepEqual([stored.body.apiVersion, stored.body.spec], ['example.com/v2', { dimensions: { size: 3 } }]);
  const before = webhook.calls;
  assert.deepEqual((await send('GET', `${WIDGETS}/a`)).body.spec, { size: 3 });
  assert.equal(webhook.calls, before, 'a revision is converted once');
  await send('POST', V2, { ...widget('b', { dimensions: { size: 4 } }), apiVersion: 'example.com/v2' });
  const list = await send('GET', `${WIDGETS}?labelSelector=a!=b`);
  assert.deepEqual(
    list.body.items.map(({ spec }: Sized) => spec),
    [{ size: 3 }, { size: 4 }],
  );
  const merge = { 'content-type': 'application/merge-patch+json' };
  const patched = await send('PATCH', `${WIDGETS}/b`, { spec: { size: 9 } }, merge);
  assert.deepEqual([patched.status, patched.body.spec], [200, { size: 9 }], patched.text);
  assert.deepEqual((await send('GET', `${V2}/b`)).body.spec, { dimensions: { size: 9 } });
  assert.equal((await send('DELETE', `${WIDGETS}/b`)).status, 200);
});

test('a list of the past is converted by one call', async () => {
  const platform = testPlatform();
  const { clock, log } = platform;
  const history = createHistoryHere({ limits: { sizeBytes: 1 << 24, ageMs: 86_400_000 }, clock, log });
  const { server, webhook } = await start(
    createServerStorage({ store: createMemoryStore({ clock }), platform, history }),
  );
  const { send } = server;
  for (const name of ['a', 'b', 'c', 'd'])
    await send('POST', V2, { ...widget(name, { dimensions: { size: 4 } }), apiVersion: 'example.com/v2' });
  const { resourceVersion } = (await send('GET', V2)).body.metadata;
  for (const name of ['a', 'b', 'c']) await send('DELETE', `${V2}/${name}`);
  const before = webhook.calls;
  const { body } = await send('GET', `/keelson/v1/history${WIDGETS}?at=${resourceVersion}`);
  assert.deepEqual(
    body.items.map(({ spec }: Sized) => spec),
    Array(4).fill({ size: 4 }),
  );
  assert.equal(webhook.calls - before, 1);
});

test('a failing webhook is a 500 with the reason', async () => {
  const { server, webhook } = await start();
  const { send } = server;
  await send('POST', V2, { ...widget('a', { dimensions: { size: 4 } }), apiVersion: 'example.com/v2' });
  webhook.fails = 'no idea';
  const answer = await send('GET', `${WIDGETS}/a`);
  assert.equal(answer.status, 500);
  assert.equal(answer.body.message, 'conversion webhook for example.com/v2, Kind=Widget failed: no idea');
  assert.equal((await send('GET', WIDGETS)).status, 500);
  assert.equal((await send('GET', V2)).status, 200);
  // The definition is deleted nevertheless, with objects that cannot be converted.
  await send('DELETE', `${DEFINITIONS}/widgets.example.com`);
  await settle();
  assert.equal((await send('GET', `${DEFINITIONS}/widgets.example.com`)).status, 404);
});

test('watches convert their events, in order, deletions too', async () => {
  const { server } = await start();
  const { send } = server;
  const old = { ...widget('a', { dimensions: { size: 1 } }), apiVersion: 'example.com/v2' };
  await send('POST', V2, old);
  const response = await server.server.handler(server.request('GET', `${WIDGETS}?watch=true`, { wantsObjects: true }));
  assert.equal(response.kind, 'watch');
  const batches = response.events[Symbol.asyncIterator]();
  const seen: string[] = [];
  const next = async (count: number): Promise<void> => {
    while (seen.length < count) {
      const { value } = (await batches.next()) as { value: readonly ObjectEvent[] };
      for (const { type, object } of value) seen.push(`${type} ${JSON.stringify((object as Sized).spec)}`);
    }
  };
  await next(1);
  const merge = { 'content-type': 'application/merge-patch+json' };
  await send('PATCH', `${V2}/a`, { spec: { dimensions: { size: 2 } } }, merge);
  await send('DELETE', `${V2}/a`);
  await next(3);
  assert.deepEqual(seen, ['ADDED {"size":1}', 'MODIFIED {"size":2}', 'DELETED {"size":2}']);
  await batches.return?.();
});

test('a long list is converted by several questions', async () => {
  const { server, webhook } = await start();
  const annotations = { text: 'x'.repeat(250_000) };
  for (let count = 0; count < 9; count++) {
    const metadata = { name: `w${count}`, annotations };
    const spec = { dimensions: { size: count } };
    const made = await server.send('POST', V2, { apiVersion: 'example.com/v2', kind: 'Widget', metadata, spec });
    assert.equal(made.status, 201, made.text);
  }
  const before = webhook.calls;
  const { body } = await server.send('GET', WIDGETS);
  assert.deepEqual(
    body.items.map(({ spec }: Sized) => spec.size),
    [0, 1, 2, 3, 4, 5, 6, 7, 8],
  );
  assert.equal(webhook.calls - before, 3);
});
