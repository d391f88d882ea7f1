/** The client against a runtime on a real socket: whose events it takes. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { GrpcError } from '../grpc/grpc-error.ts';
import { createSocketServer, type GrpcHandler } from '../grpc/socket-server.ts';
import { createNodeClock } from '../platform/node/clock.ts';
import { listenRpc } from '../platform/node/rpc-server.ts';
import { eventsTable } from './containerd-events.ts';
import { createCriClient } from './cri-client.ts';
import { criTable } from './gen/cri-table.ts';
import type { CriEvent } from './runtime-service.ts';

/** All events of a runtime that answers with these, to their end. */
async function eventsOf(t: TestContext, methods: Record<string, GrpcHandler>): Promise<CriEvent[]> {
  const directory = await mkdtemp(join(tmpdir(), 'cri-client-'));
  const endpoint = join(directory, 'cri.sock');
  const server = await createSocketServer(listenRpc)(endpoint, [criTable, eventsTable], methods);
  const stop = new AbortController();
  t.after(async () => {
    stop.abort();
    await server.close();
    await rm(directory, { recursive: true });
  });
  const events: CriEvent[] = [];
  for await (const event of createCriClient({ clock: createNodeClock() }, { endpoint }).events(stop.signal))
    events.push(event);
  return events;
}

const criEvents = 'runtime.v1.RuntimeService/GetContainerEvents';
const subscribe = 'containerd.services.events.v1.Events/Subscribe';

test("are CRI's own where the runtime has them", async (t) => {
  const types = ['CREATED', 'STARTED', 'STOPPED', 'DELETED'];
  const events = await eventsOf(t, {
    async *[criEvents]() {
      for (const type of types) yield { containerId: 'c', containerEventType: `CONTAINER_${type}_EVENT` };
    },
    [subscribe]: () => assert.fail('nobody else is asked'),
  });
  assert.deepEqual(events, [
    { containerId: 'c', type: 'created' },
    { containerId: 'c', type: 'started' },
    { containerId: 'c', type: 'stopped' },
    { containerId: 'c', type: 'deleted' },
  ]);
});

test("are containerd's where it has none of CRI's", async (t) => {
  const events = await eventsOf(t, {
    // oxlint-disable-next-line require-yield -- it refuses at the first step
    async *[criEvents]() {
      throw new GrpcError('Unimplemented', 'unknown method GetContainerEvents');
    },
    async *[subscribe]() {
      const value = Buffer.from([0x0a, 1, 'c'.charCodeAt(0)]);
      yield { namespace: 'k8s.io', topic: '/tasks/start', event: { typeUrl: '', value } };
      yield { namespace: 'moby', topic: '/tasks/start', event: { typeUrl: '', value } };
    },
  });
  assert.deepEqual(events, [{ containerId: 'c', type: 'started' }]);
});

test('that break off for another reason are told so', async (t) => {
  const broken = eventsOf(t, {
    // oxlint-disable-next-line require-yield -- it refuses at the first step
    async *[criEvents]() {
      throw new GrpcError('Unavailable', 'going down');
    },
    [subscribe]: () => assert.fail('nobody else is asked'),
  });
  await assert.rejects(broken, { code: 'Unavailable' });
});
