import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMaps } from '../api/gen/resources.ts';
import type { ObjectEvent } from '../api/transport.ts';
import type { ByteSink } from '../platform/streams.ts';
import { startTestServer, type TestServer } from './server-fixture.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const named = (name: string, labels: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels },
});

interface Line {
  type: string;
  object: {
    kind: string;
    metadata: { name?: string; resourceVersion: string; annotations?: Record<string, string> };
    code?: number;
    message?: string;
  };
}

/** Opens a watch over bytes and collects its lines. */
async function watch(
  { server, request }: TestServer,
  query: string,
  headers: Record<string, string> = {},
): Promise<{ lines: Line[]; done: Promise<void>; stop: () => void }> {
  const stop = new AbortController();
  const response = await server.handler(request('GET', `${MAPS}?watch=1${query}`, { signal: stop.signal, headers }));
  assert.equal(response.kind, 'stream');
  const lines: Line[] = [];
  let rest = '';
  const sink: ByteSink = {
    write: async (chunk) => {
      rest += Buffer.from(chunk).toString('utf8');
      const parts = rest.split('\n');
      rest = parts.pop() ?? '';
      for (const part of parts) lines.push(JSON.parse(part) as Line);
    },
    end: async () => undefined,
  };
  return { lines, done: response.kind === 'stream' ? response.run(sink) : Promise.resolve(), stop: () => stop.abort() };
}

const shown = (lines: readonly Line[]): string[] =>
  lines.map(({ type, object }) => `${type} ${object.metadata.name ?? ''}`.trim());

test('no change is lost between the first state of a watch and its first event', async () => {
  const server = await startTestServer();
  const { storage, platform } = server;
  const start = await server.send('POST', MAPS, named('first'));
  const from = String((start.body.metadata as { resourceVersion: string }).resourceVersion);
  for (const query of [
    '',
    '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
    `&resourceVersion=${from}`,
  ])
    for (let turns = 0; turns < 30; turns++) {
      const name = `at-${turns}-${query.length}`;
      const opening = watch(server, query);
      for (let turn = 0; turn < turns; turn++) await undefined;
      await storage.objects.ensure(ConfigMaps, { ...named(name), metadata: { name, namespace: 'default' } });
      const { lines, stop } = await opening;
      await platform.clock.settle();
      assert.equal(
        lines.filter(({ object }) => object.metadata.name === name).length,
        1,
        `${query} after ${turns} turns`,
      );
      stop();
    }
});

test('a watch without version starts with the existing objects', async () => {
  const server = await startTestServer();
  await server.send('POST', MAPS, named('a'));
  const { lines, done, stop } = await watch(server, '');
  const b = await server.send('POST', MAPS, named('b'));
  await server.send('PUT', `${MAPS}/b`, { ...b.body, data: { x: '1' } });
  await server.send('DELETE', `${MAPS}/a`);
  await server.platform.clock.settle();
  assert.deepEqual(shown(lines), ['ADDED a', 'ADDED b', 'MODIFIED b', 'DELETED a']);
  const versions = lines.map((line) => Number(line.object.metadata.resourceVersion));
  assert.deepEqual(
    versions,
    versions.toSorted((x, y) => x - y),
  );
  stop();
  await done;
});

test('a watch resumes after a version, and misses nothing', async () => {
  const server = await startTestServer();
  const a = await server.send('POST', MAPS, named('a'));
  await server.send('POST', MAPS, named('b'));
  const { lines, done, stop } = await watch(server, `&resourceVersion=${a.body.metadata.resourceVersion}`);
  await server.send('POST', MAPS, named('c'));
  await server.platform.clock.settle();
  assert.deepEqual(shown(lines), ['ADDED b', 'ADDED c']);
  stop();
  await done;
});

test('entering and leaving the selection', async () => {
  const server = await startTestServer();
  const made = await server.send('POST', MAPS, named('m', { app: 'x' }));
  const { lines, done, stop } = await watch(server, '&labelSelector=app%3Dx');
  const out = await server.send('PUT', `${MAPS}/m`, {
    ...made.body,
    metadata: { ...made.body.metadata, labels: { app: 'y' } },
  });
  await server.send('POST', MAPS, named('other'));
  await server.send('PUT', `${MAPS}/m`, { ...out.body, metadata: { ...out.body.metadata, labels: { app: 'x' } } });
  await server.platform.clock.settle();
  assert.deepEqual(shown(lines), ['ADDED m', 'DELETED m', 'ADDED m']);
  assert.equal(
    lines[1]!.object.metadata.resourceVersion,
    out.body.metadata.resourceVersion,
    'the version of the change that took it out',
  );
  stop();
  await done;
});

test('watches of one name hear of that name alone, in their namespace', async () => {
  const server = await startTestServer();
  const there = await watch(server, '&fieldSelector=metadata.name%3Db');
  const both = await watch(server, '&fieldSelector=metadata.name%3Db');
  await server.send('POST', MAPS, named('a'));
  const b = await server.send('POST', MAPS, named('b'));
  await server.send('POST', '/api/v1/namespaces/kube-system/configmaps', named('b'));
  const late = await watch(server, '&fieldSelector=metadata.name%3Db');
  await server.platform.clock.settle();
  both.stop();
  await both.done;
  await server.send('PUT', `${MAPS}/b`, { ...b.body, data: { x: '1' } });
  await server.send('DELETE', `${MAPS}/b`);
  await server.platform.clock.settle();
  assert.deepEqual(shown(there.lines), ['ADDED b', 'MODIFIED b', 'DELETED b']);
  assert.deepEqual(shown(both.lines), ['ADDED b']);
  assert.deepEqual(shown(late.lines), ['ADDED b', 'MODIFIED b', 'DELETED b']);
  for (const { stop } of [there, late]) stop();
  await Promise.all([there.done, late.done]);
});

test('a version too old is an ERROR event with 410', async () => {
  const server = await startTestServer();
  const first = await server.send('POST', MAPS, named('n'));
  for (let i = 0; i < 400; i++) {
    server.platform.clock.jumpWall(0);
    await server.send(
      'PATCH',
      `${MAPS}/n`,
      { data: { i: String(i) } },
      { 'content-type': 'application/merge-patch+json' },
    );
    if (i === 300) await server.platform.clock.advance(80_000);
  }
  const { lines, done } = await watch(server, `&resourceVersion=${first.body.metadata.resourceVersion}`);
  await done;
  assert.deepEqual([lines.length, lines[0]!.type, lines[0]!.object.code], [1, 'ERROR', 410]);
  assert.match(lines[0]!.object.message ?? '', /^too old resource version: /);
});

test('sendInitialEvents ends with an annotated bookmark; bookmarks follow each minute; the time limit ends it', async () => {
  const server = await startTestServer();
  await server.send('POST', MAPS, named('a'));
  const query = '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=90';
  const { lines, done } = await watch(server, query);
  await server.platform.clock.settle();
  assert.deepEqual(shown(lines), ['ADDED a', 'BOOKMARK']);
  assert.deepEqual(lines[1]!.object.metadata.annotations, { 'k8s.io/initial-events-end': 'true' });
  await server.platform.clock.advance(91_000);
  await done;
  assert.deepEqual(shown(lines), ['ADDED a', 'BOOKMARK', 'BOOKMARK']);
});

test('a watch inside the process gets objects in batches', async () => {
  const { server, request, send } = await startTestServer();
  const stop = new AbortController();
  const response = await server.handler(
    request('GET', `${MAPS}?watch=true`, { wantsObjects: true, signal: stop.signal }),
  );
  assert.ok(response.kind === 'watch');
  await send('POST', MAPS, named('a'));
  const seen: ObjectEvent[] = [];
  for await (const batch of response.events) {
    seen.push(...batch);
    stop.abort();
  }
  assert.deepEqual(
    seen.map((event) => event.type),
    ['ADDED'],
  );
  const direct = await server.handler(request('GET', `${MAPS}/a`, { wantsObjects: true }));
  assert.ok(direct.kind === 'object');
  assert.equal(direct.object, seen[0]!.object, 'one object for all readers');
});

test('lists and watches inside the process return only metadata on request', async () => {
  const server = await startTestServer();
  await server.send('POST', MAPS, { ...named('a', { x: 'y' }), data: { big: 'z' } });
  const ask = (path: string, as: string) => ({
    ...server.request('GET', path, {}),
    headers: { accept: `application/json;as=${as};g=meta.k8s.io;v=v1` },
    wantsObjects: true,
  });
  const list = await server.server.handler(ask(MAPS, 'PartialObjectMetadataList'));
  assert.equal(list.kind, 'object');
  const { kind, items } = (list as { object: { kind: string; items: { kind: string; metadata: { name: string } }[] } })
    .object;
  assert.deepEqual(
    [kind, items.map((item) => [item.kind, item.metadata.name, Object.keys(item)])],
    ['PartialObjectMetadataList', [['PartialObjectMetadata', 'a', ['kind', 'apiVersion', 'metadata']]]],
  );
  const watched = await server.server.handler(ask(`${MAPS}?watch=1`, 'PartialObjectMetadata'));
  assert.equal(watched.kind, 'watch');
  if (watched.kind !== 'watch') return;
  for await (const [event] of watched.events) {
    const object = event!.object as { kind: string; data?: object; metadata: { labels: object } };
    assert.deepEqual([event!.type, object.kind, object.data], ['ADDED', 'PartialObjectMetadata', undefined]);
    assert.deepEqual(object.metadata.labels, { x: 'y' });
    break;
  }
});

test('bad watch options are refused', async () => {
  const { send } = await startTestServer();
  for (const query of [
    '&sendInitialEvents=true',
    '&resourceVersionMatch=Exact&resourceVersion=1',
    '&fieldSelector=a=b',
    '&timeoutSeconds=x',
  ]) {
    const { status } = await send('GET', `${MAPS}?watch=1${query}`);
    assert.ok(status === 422 || status === 400, query);
  }
  const yaml = await send('GET', `${MAPS}?watch=1`, undefined, { accept: 'application/yaml' });
  assert.equal(yaml.status, 406);
});

test('stopping the server ends its watches', async () => {
  const server = await startTestServer();
  const { done } = await watch(server, '');
  await server.server.stop();
  await done;
});

test('a large initial state is sent in turns, and contains changes made meanwhile', async () => {
  const server = await startTestServer();
  const { clock } = server.platform;
  const text = 'x'.repeat(20_000);
  for (let i = 0; i < 20; i++) await server.send('POST', MAPS, { ...named(`m${10 + i}`), data: { text } });
  const merge = { 'content-type': 'application/merge-patch+json' };
  const [monotonicMs, yieldTurn] = [clock.monotonicMs.bind(clock), clock.yield.bind(clock)];
  let [slow, turns] = [0, 0];
  clock.monotonicMs = () => monotonicMs() + (slow += 3);
  clock.yield = async () => {
    if (++turns === 5) {
      clock.monotonicMs = monotonicMs;
      await server.send('DELETE', `${MAPS}/m12`);
      await server.send('PATCH', `${MAPS}/m11`, { data: { text: 'short' } }, merge);
      await server.send('POST', MAPS, named('m99'));
    }
    await yieldTurn();
  };
  const query = '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
  const { lines, done, stop } = await watch(server, query);
  await clock.settle();
  assert.ok(turns >= 5);
  const expected = Array.from({ length: 20 }, (_, i) => `ADDED m${10 + i}`).filter((line) => line !== 'ADDED m12');
  assert.deepEqual(shown(lines), [...expected, 'ADDED m99', 'BOOKMARK']);
  const changed = lines.find(({ object }) => object.metadata.name === 'm11') as
    | { object: { data?: object } }
    | undefined;
  assert.deepEqual(changed?.object.data, { text: 'short' });
  stop();
  await done;
});

test('a long first state as tables is encoded beforehand, and has its columns once, whatever changes meanwhile', async () => {
  const server = await startTestServer();
  const count = 600;
  for (let at = 0; at < count; at++) await server.send('POST', MAPS, named(`a${at}`));
  const accept = 'application/json;as=Table;g=meta.k8s.io;v=v1';
  const opening = watch(server, '', { accept });
  await server.send('DELETE', `${MAPS}/a0`);
  const { lines, done, stop } = await opening;
  await server.send('POST', MAPS, named('b'));
  await server.platform.clock.settle();
  const tables = lines.map(({ object }) => object as unknown as { columnDefinitions?: unknown[]; rows: unknown[] });
  assert.ok(lines.length >= count && lines.length <= count + 2, `${lines.length}`);
  assert.ok(tables.every(({ rows }) => rows.length === 1));
  assert.deepEqual(
    tables.flatMap(({ columnDefinitions }, at) => ((columnDefinitions?.length ?? 0) > 0 ? [at] : [])),
    [0],
  );
  stop();
  await done;
});
