import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigMaps, Pods } from '../api/gen/resources.ts';
import { isReason, StatusError } from '../api/status-error.ts';
import type { ApiHandler, ApiResponse } from '../api/transport.ts';
import type { Net } from '../platform/net.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import type { Client, WatchEvent } from './client.ts';
import { createInProcessClient } from './in-process-transport.ts';
import { createRestClient } from './rest-client.ts';
import { retryOnConflict } from './retry-on-conflict.ts';
import { createFakeApi, type FakeApi } from './fake-api-fixture.ts';
import { createFakeNet } from './fake-net-fixture.ts';

type Make = (handler: ApiHandler, clock: VirtualClock) => Client;
const makers: Record<string, Make> = {
  'in-process': (handler, clock) =>
    createInProcessClient({
      handler,
      clock,
      principal: { name: 'admin', groups: ['system:masters'] },
      userAgent: 'test',
    }),
  rest: (handler, clock) =>
    createRestClient({
      net: createFakeNet(handler) as unknown as Net,
      clock,
      server: 'https://server:6443/',
      token: 't',
      userAgent: 'test',
    }),
};

function setUp(make: Make): { api: FakeApi; client: Client; clock: VirtualClock } {
  const clock = new VirtualClock();
  const api = createFakeApi(() => '2026-01-01T00:00:00Z');
  return { api, clock, client: make(api.handler, clock) };
}

const configMap = (name: string, data: Record<string, string> = {}) => ({
  metadata: { namespace: 'default', name },
  data,
});

for (const [name, make] of Object.entries(makers)) {
  describe(`client over ${name}`, () => {
    it('creates, gets, lists, updates, patches and deletes', async () => {
      const { api, client } = setUp(make);
      const maps = client.resource(ConfigMaps);
      const created = await maps.create(configMap('a', { x: '1' }), { fieldManager: 'me', dryRun: false });
      assert.equal(created.metadata.name, 'a');
      assert.equal(api.requests.at(-1)?.query, 'fieldManager=me');
      assert.deepEqual((await maps.get({ namespace: 'default', name: 'a' })).data, { x: '1' });
      const updated = await maps.update({ ...created, data: { x: '2' } });
      assert.deepEqual(updated.data, { x: '2' });
      const patched = await maps.patch(
        { namespace: 'default', name: 'a' },
        { type: 'merge', patch: { data: { y: '3' } } },
      );
      assert.deepEqual(patched.data, { x: '2', y: '3' });
      const list = await maps.list({ namespace: 'default', labelSelector: 'a in (b,c)' });
      assert.equal(list.items.length, 1);
      assert.equal(api.requests.at(-1)?.query, `labelSelector=${encodeURIComponent('a in (b,c)')}`);
      await maps.delete(
        { namespace: 'default', name: 'a' },
        { gracePeriodSeconds: 0, preconditions: { uid: created.metadata.uid as string } },
      );
      assert.deepEqual(api.requests.at(-1)?.body, {
        kind: 'DeleteOptions',
        apiVersion: 'v1',
        gracePeriodSeconds: 0,
        preconditions: { uid: created.metadata.uid },
      });
      assert.equal(api.objects(ConfigMaps).length, 0);
    });

    it('sends raw requests, without a method to read', async () => {
      const { api, client } = setUp(make);
      const collection = '/api/v1/namespaces/default/configmaps';
      await client.raw({ method: 'POST', path: collection, body: configMap('a', { x: '1' }) });
      const { status, body } = await client.raw({ path: `${collection}/a` });
      assert.equal(status, 200);
      assert.deepEqual(JSON.parse(Buffer.from(body).toString('utf8')).data, { x: '1' });
      assert.deepEqual(
        api.requests.map(({ method }) => method),
        ['POST', 'GET'],
      );
    });

    it('converts error responses to StatusErrors', async () => {
      const { client } = setUp(make);
      const maps = client.resource(ConfigMaps);
      await assert.rejects(maps.get({ namespace: 'default', name: 'none' }), (error) => {
        assert.ok(isReason(error, 'NotFound'));
        assert.equal(error.message, 'configmaps "none" not found');
        return true;
      });
      await maps.create(configMap('a'));
      await assert.rejects(
        maps.create(configMap('a')),
        (error) => isReason(error, 'AlreadyExists') && error.code === 409,
      );
      await assert.rejects(
        client.raw({ method: 'GET', path: '/api/v1/namespaces/default/configmaps/none' }),
        StatusError,
      );
      await assert.rejects(async () => maps.get({ name: 'a' }), /an empty namespace may not be set/);
    });

    it('watches in order until the caller leaves', async () => {
      const { api, client } = setUp(make);
      const pods = client.resource(Pods);
      const stop = new AbortController();
      const seen: string[] = [];
      const done = (async () => {
        for await (const batch of pods.watch({ resourceVersion: '0', signal: stop.signal })) {
          for (const event of batch as readonly WatchEvent<{ metadata: { name?: string } }>[]) {
            seen.push(`${event.type} ${event.object.metadata.name}`);
            if (event.object.metadata.name === 'last') return;
          }
        }
      })();
      for (const podName of ['ä-1', 'b', 'last']) {
        api.seed(Pods, { metadata: { namespace: 'default', name: podName }, spec: { containers: [] } });
      }
      await done;
      assert.deepEqual(seen, ['ADDED ä-1', 'ADDED b', 'ADDED last']);
    });

    it('reports an expired watch as 410', async () => {
      const { api, client } = setUp(make);
      api.breakWatches({ forget: true });
      await assert.rejects(
        async () => {
          for await (const batch of client.resource(Pods).watch({ resourceVersion: '1' }))
            assert.fail(String(batch.length));
        },
        (error) => isReason(error, 'Expired'),
      );
    });

    it('waits for the time of retry-after', async () => {
      const clock = new VirtualClock();
      let calls = 0;
      const client = make((): ApiResponse => {
        calls++;
        if (calls === 1)
          return {
            kind: 'object',
            status: 429,
            headers: { 'retry-after': '7' },
            object: { kind: 'Status', message: 'slow down' },
          };
        return { kind: 'object', status: 200, headers: {}, object: configMap('a') };
      }, clock);
      await clock.drive(client.resource(ConfigMaps).get({ namespace: 'default', name: 'a' }));
      assert.equal(clock.monotonicMs(), 7000);
    });

    it('rejects with the reason of an aborted signal', async () => {
      const { client } = setUp(make);
      await assert.rejects(client.resource(Pods).list({ signal: AbortSignal.abort(new Error('stop')) }), /stop/);
    });
  });
}

describe('in-process upgrade', () => {
  it('carries bytes both ways behind the 101 head', async () => {
    const clock = new VirtualClock();
    const client = makers['in-process']!(
      () => ({
        kind: 'upgrade',
        async accept(socket) {
          await socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nhel');
          await socket.write('lo ');
          for await (const chunk of socket.incoming) await socket.write(chunk);
          await socket.end();
        },
      }),
      clock,
    );
    const socket = await client.upgrade({ path: '/exec?x=1', headers: { upgrade: 'x' } });
    await socket.write('there');
    await socket.end();
    let text = '';
    for await (const chunk of socket.incoming) text += Buffer.from(chunk).toString();
    assert.equal(text, 'hello there');
    await socket.closed;
  });

  it('refuses with the Status behind another head', async () => {
    const client = makers['in-process']!(
      () => ({
        kind: 'object',
        status: 400,
        headers: {},
        object: { kind: 'Status', reason: 'BadRequest', message: 'Upgrade request required', code: 400 },
      }),
      new VirtualClock(),
    );
    await assert.rejects(client.upgrade({ path: '/exec', headers: {} }), /Upgrade request required/);
  });
});

describe('rest client', () => {
  it('requests a new token after a 401', async () => {
    const clock = new VirtualClock();
    const tokens = ['old', 'new'];
    const net = createFakeNet((request) =>
      request.headers['authorization'] === 'Bearer new'
        ? { kind: 'object', status: 200, headers: {}, object: configMap('a') }
        : {
            kind: 'object',
            status: 401,
            headers: {},
            object: { kind: 'Status', reason: 'Unauthorized', code: 401, message: 'Unauthorized' },
          },
    );
    const client = createRestClient({
      net: net as unknown as Net,
      clock,
      server: 'https://server',
      userAgent: 'test',
      tokenSource: { token: () => Promise.resolve(tokens[0] as string), invalidate: () => void tokens.shift() },
    });
    assert.equal((await client.resource(ConfigMaps).get({ namespace: 'default', name: 'a' })).metadata.name, 'a');
    assert.equal(net.calls.length, 2);
  });
});

describe('retryOnConflict', () => {
  it('tries five times, then throws the conflict', async () => {
    const { api, client, clock } = setUp(makers['in-process']!);
    const maps = client.resource(ConfigMaps);
    const stale = await maps.create(configMap('a'));
    api.modify(ConfigMaps, 'default/a', (map) => ({ ...map, data: { new: '1' } }));
    let tries = 0;
    const failing = retryOnConflict(clock, () => {
      tries++;
      return maps.update({ ...stale, data: {} });
    });
    await assert.rejects(clock.drive(failing), (error) => isReason(error, 'Conflict'));
    assert.equal(tries, 5);
  });
});

it('a request of the same process lets other work run where the server pauses for a large object', async () => {
  const turns: string[] = [];
  const clock = { yield: async () => void turns.push('others') } as unknown as VirtualClock;
  const handler: ApiHandler = async ({ pause }) => {
    turns.push('first step');
    await pause?.();
    turns.push('second step');
    return { kind: 'object', status: 200, headers: {}, object: configMap('a') };
  };
  await makers['in-process']!(handler, clock).resource(ConfigMaps).get({ namespace: 'default', name: 'a' });
  assert.deepEqual(turns, ['first step', 'others', 'second step']);
});
