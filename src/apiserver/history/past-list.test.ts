import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '../../api/transport.ts';
import { dateOf, formatTime } from '../../api/time.ts';
import type { HistoryLog } from '../../storage/history-log.ts';
import { createMemoryStore } from '../../storage/memory/memory-store.ts';
import { createHistoryHere } from '../../storage/sqlite/history/history-here-fixture.ts';
import type { AuthorizationAttributes } from '../authz/contract.ts';
import { createDeferred } from '../../base/deferred.ts';
import { createServerStorage } from '../server-storage.ts';
import { MOST_CHANGED_KEYS } from './past-candidates.ts';
import { startTestServer, testPlatform, type TestServer } from '../server-fixture.ts';
import { changedLog } from './history-log-fixture.ts';

const MAPS = '/api/v1/configmaps';
const mapsIn = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;
const at = (path: string, query: string): string => `/keelson/v1/history${path}?${query}`;
const limits = { sizeBytes: 64 << 20, ageMs: 86_400_000 };

/** `before`: done before the history begins. */
async function start(
  before: (server: TestServer) => Promise<unknown> = async () => undefined,
  wrap = (log: HistoryLog): HistoryLog => log,
): Promise<TestServer> {
  const platform = testPlatform();
  const { clock, log } = platform;
  const store = createMemoryStore({ clock });
  await before(await startTestServer({ storage: createServerStorage({ store, platform }), platform }));
  const history = wrap(createHistoryHere({ limits, clock, log }));
  const storage = createServerStorage({ store, platform, history });
  const authorizer = {
    authorize({ user, namespace, verb }: AuthorizationAttributes) {
      const mayAll = user.groups.includes('system:masters');
      return { decision: mayAll || (verb === 'list' && namespace === 'a') ? 'allow' : 'deny', reason: '' } as const;
    },
  };
  return { ...(await startTestServer({ storage, platform, authorizers: [authorizer] })), platform };
}

const textOf = ({ items }: { items: { metadata: { namespace: string; name: string }; data: object }[] }): string[] =>
  items.map(({ metadata: { namespace, name }, data }) => `${namespace}/${name} ${JSON.stringify(data)}`);

/** All pages of a list at a moment. */
async function listAt(server: TestServer, path: string, query: string): Promise<string[]> {
  const found: string[] = [];
  let token = '';
  do {
    const { status, body } = await server.send('GET', at(path, `${query}${token && `&continue=${token}`}`));
    assert.equal(status, 200, JSON.stringify(body));
    found.push(...textOf(body));
    token = body.metadata.continue ?? '';
  } while (token !== '');
  return found;
}

/** Small steps of a generator that is the same in every run. */
function* numbers(): Generator<number, never> {
  for (let state = 7; ;) yield (state = (state * 48_271) % 2_147_483_647);
}

test('a list at any moment equals the list at that moment, in pages of any size', async () => {
  const random = numbers();
  const next = (below: number): number => random.next().value % below;
  const write = async (server: TestServer): Promise<void> => {
    const namespace = ['a', 'b'][next(2)]!;
    const name = `m${next(8)}`;
    const object = { metadata: { name, labels: { odd: String(next(2)) } }, data: { n: String(next(1000)) } };
    const { status } = await server.send('POST', mapsIn(namespace), object);
    if (status !== 409) return;
    if (next(2) === 0) await server.send('DELETE', `${mapsIn(namespace)}/${name}`);
    else await server.send('PUT', `${mapsIn(namespace)}/${name}`, object);
  };
  const server = await start(async (earlier) => {
    for (const name of ['a', 'b']) await earlier.send('POST', '/api/v1/namespaces', { metadata: { name } });
    for (let step = 0; step < 10; step++) await write(earlier);
  });
  const moments: { revision: string; time: string; all: string[]; odd: string[]; b: string[] }[] = [];
  await server.platform.clock.advance(6000); // Its file is opened then, and earlier times are not known.
  for (let step = 0; step < 120; step++) {
    if (step > 0) await write(server);
    await server.platform.clock.advance(next(3) * 700 + 5);
    const { body } = await server.send('GET', MAPS);
    const odd = textOf((await server.send('GET', `${MAPS}?labelSelector=odd%3D1`)).body);
    const b = textOf((await server.send('GET', mapsIn('b'))).body);
    const time = dateOf(server.platform.clock.nowMs()).toISOString();
    moments.push({ revision: body.metadata.resourceVersion, time, all: textOf(body), odd, b });
    await server.platform.clock.advance(5);
  }
  await server.platform.clock.advance(2000);
  for (const [index, { revision, time, all, odd, b }] of moments.entries()) {
    assert.deepEqual(await listAt(server, MAPS, `at=${revision}`), all, `revision ${revision}`);
    assert.deepEqual(await listAt(server, MAPS, `at=${time}&limit=${1 + (index % 5)}`), all, time);
    assert.deepEqual(await listAt(server, MAPS, `at=${time}&labelSelector=odd%3D1&limit=2`), odd, time);
    assert.deepEqual(await listAt(server, mapsIn('b'), `at=${revision}&limit=3`), b, `b at ${revision}`);
  }
});

test('tables have the ages at that time, and every format of lists is served', async () => {
  const server = await start();
  await server.platform.clock.advance(6000);
  await server.send('POST', mapsIn('a'), { metadata: { name: 'm' }, data: { n: '1' } });
  await server.platform.clock.advance(5000);
  const time = formatTime(server.platform.clock.nowMs());
  await server.platform.clock.advance(3_600_000);
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const { body } = await server.send('GET', at(MAPS, `at=${time}`), undefined, { accept });
  assert.deepEqual(
    body.rows.map(({ cells }: { cells: unknown[] }) => [cells.at(0), cells.at(-1)]),
    [['m', '5s']],
  );
  const yaml = await server.send('GET', at(MAPS, `at=${time}`), undefined, { accept: 'application/yaml' });
  assert.match(yaml.text, /^kind: ConfigMapList$/m);
});

test('unknown times are refused', async () => {
  let isLost = false;
  const server = await start(undefined, (log) =>
    changedLog(log, {
      append: (batch) =>
        log.append(
          isLost ? { ...batch, gaps: [{ lane: 'objects', after: 0, until: batch.covered, changes: 1 }] } : batch,
        ),
    }),
  );
  const { body } = await server.send('POST', mapsIn('a'), { metadata: { name: 'm' } });
  const codeOf = async (path: string, query: string): Promise<number> =>
    (await server.send('GET', at(path, query))).status;
  assert.equal(await codeOf(MAPS, 'at=2001-01-01T00:00:00Z'), 410);
  assert.equal(await codeOf(MAPS, 'at=yesterday'), 400);
  const { body: span } = await server.send('GET', at(MAPS, ''));
  assert.deepEqual([span.kind, span.now], ['HistorySpan', dateOf(server.platform.clock.nowMs()).toISOString()]);
  assert.equal(await codeOf(MAPS, `at=${body.metadata.resourceVersion}`), 200);
  isLost = true;
  await server.send('DELETE', `${mapsIn('a')}/m`);
  assert.equal(await codeOf(MAPS, `at=${body.metadata.resourceVersion}`), 410);
});

test('a list whose changes are dropped while they are read is refused', async () => {
  let isForgotten = false;
  const server = await start(undefined, (log) =>
    changedLog(log, {
      async locate(query) {
        const found = await log.locate(query);
        return isForgotten ? { ...found, status: { ...found.status, since: found.revision } } : found;
      },
      async changedKeys() {
        isForgotten = true;
        return { records: [], bytes: 1 };
      },
    }),
  );
  const { body } = await server.send('POST', mapsIn('a'), { metadata: { name: 'm' } });
  await server.send('DELETE', `${mapsIn('a')}/m`);
  const answer = await server.send('GET', at(MAPS, `at=${body.metadata.resourceVersion}`));
  assert.equal(answer.status, 410, answer.text);
});

test('a future revision is refused, and not cached', async () => {
  const server = await start();
  const post = (name: string) => server.send('POST', mapsIn('a'), { metadata: { name } });
  await post('a');
  const { body } = await post('b');
  const later = String(Number(body.metadata.resourceVersion) + 2);
  for (const path of [MAPS, `${mapsIn('a')}/a`]) {
    const answer = server.send('GET', at(path, `at=${later}&limit=1`));
    await server.platform.clock.advance(3000);
    const { status, body: failure } = await answer;
    assert.equal(status, 504, path);
    assert.equal(failure.details.causes[0].reason, 'ResourceVersionTooLarge');
  }
  const waiting = listAt(server, mapsIn('a'), `at=${later}&limit=1`);
  await post('c');
  await post('d');
  const names = ['a', 'b', 'c', 'd'].map((name) => `a/${name} undefined`);
  assert.deepEqual(await waiting, names);
});

test('a user who may list one namespace sees the past of existing objects there, and of no deleted ones', async () => {
  const server = await start(async ({ send }) => {
    for (const name of ['a', 'b']) await send('POST', '/api/v1/namespaces', { metadata: { name } });
  });
  for (const name of ['lives', 'gone', 'other'])
    await server.send('POST', mapsIn('a'), { metadata: { name }, data: { of: 'then' } });
  const { body } = await server.send('GET', mapsIn('a'));
  const then = `at=${body.metadata.resourceVersion}`;
  await server.send('PUT', `${mapsIn('a')}/lives`, { metadata: { name: 'lives' }, data: { of: 'now' } });
  await server.send('DELETE', `${mapsIn('a')}/gone`);
  await server.send('DELETE', `${mapsIn('a')}/other`);
  await server.send('POST', mapsIn('a'), { metadata: { name: 'other' }, data: { of: 'now' } });
  assert.deepEqual(await listAt(server, mapsIn('a'), then), [
    'a/gone {"of":"then"}',
    'a/lives {"of":"then"}',
    'a/other {"of":"then"}',
  ]);
  const principal: Principal = { name: 'eve', groups: ['system:authenticated'] };
  const asEve = async (path: string): Promise<{ status: number; warning: string; text: string }> => {
    const response = await server.server.handler(
      server.request('GET', `/keelson/v1/history${path}`, { principal, query: then }),
    );
    assert.ok(response.kind === 'bytes');
    const warning = String(response.headers['warning'] ?? '');
    return { status: response.status, warning, text: Buffer.concat(response.chunks).toString() };
  };
  const { status, text, warning } = await asEve(mapsIn('a'));
  assert.equal(status, 200, text);
  assert.deepEqual(textOf(JSON.parse(text)), ['a/lives {"of":"then"}']);
  assert.match(warning, /objects that are gone are left out/);
  assert.equal((await asEve(mapsIn('b'))).status, 403);
  assert.equal((await asEve(MAPS)).status, 403);
});

test('later pages reuse the changes of the first one, and these are released when no client reads on', async () => {
  let asked = 0;
  const server = await start(undefined, (log) =>
    changedLog(log, { changedKeys: (query) => (asked++, log.changedKeys(query)) }),
  );
  for (let index = 0; index < 9; index++) await server.send('POST', mapsIn('a'), { metadata: { name: `m${index}` } });
  const { body } = await server.send('GET', MAPS);
  for (let index = 0; index < 9; index += 2) await server.send('DELETE', `${mapsIn('a')}/m${index}`);
  const query = `at=${body.metadata.resourceVersion}&limit=2`;
  assert.deepEqual(await listAt(server, MAPS, query), textOf(body));
  assert.equal(asked, 1);
  const { scans } = server.storage.history!;
  assert.equal(scans.size, 1);
  await server.platform.clock.advance(31_000);
  assert.equal(scans.size, 0);
});

test('lists of the past of one user wait for each other, and more objects than are held are refused', async () => {
  let underWay = 0;
  let most = 0;
  let isMany = false;
  const gate = createDeferred<void>();
  const server = await start(undefined, (log) =>
    changedLog(log, {
      async changedKeys(query) {
        if (isMany)
          return {
            records: Array.from({ length: MOST_CHANGED_KEYS + 1 }, (_, index) => ({
              key: `${query.prefix}a/${index}`,
              revision: query.after + 1,
              timeMs: 0,
              change: 'deleted' as const,
              value: Buffer.alloc(0),
            })),
            bytes: 1,
          };
        most = Math.max(most, ++underWay);
        await gate.promise;
        underWay--;
        return log.changedKeys(query);
      },
    }),
  );
  const { body } = await server.send('POST', mapsIn('a'), { metadata: { name: 'm' } });
  const path = at(MAPS, `at=${body.metadata.resourceVersion}`);
  const answers = Array.from({ length: 8 }, () => server.send('GET', path));
  await server.platform.clock.settle();
  gate.resolve();
  for (const { status } of await Promise.all(answers)) assert.equal(status, 200);
  assert.ok(most > 0 && most <= 2, `${most} at once`);
  isMany = true;
  const refused = await server.send('GET', path);
  assert.equal(refused.status, 410);
  assert.match(refused.text, /more than 50000 objects have changed/);
});
