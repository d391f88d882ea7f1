/** The client with a runtime in memory, over the wire format: the events it delivers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GrpcError } from '../grpc/grpc-error.ts';
import { createFakeSockets, type FakeMethod } from '../grpc/grpc-connector-fixture.ts';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { createCriClient } from './cri-client.ts';
import type { CriEvent } from './runtime-service.ts';

const ENDPOINT = '/run/cri.sock';

/** All events of a runtime with these methods, to their end. */
async function eventsOf(methods: Record<string, FakeMethod>): Promise<CriEvent[]> {
  const { clock } = createSimPlatform();
  const sockets = createFakeSockets(clock);
  sockets.serve(ENDPOINT, methods);
  const events: CriEvent[] = [];
  const client = createCriClient({ clock, connectGrpc: sockets.connect }, { endpoint: ENDPOINT });
  for await (const event of client.events(new AbortController().signal)) events.push(event);
  return events;
}

test("are CRI's own where the runtime has them", async () => {
  const types = ['CREATED', 'STARTED', 'STOPPED', 'DELETED'];
  const events = await eventsOf({
    async *GetContainerEvents() {
      for (const type of types) yield { containerId: 'c', containerEventType: `CONTAINER_${type}_EVENT` };
    },
    Subscribe: () => assert.fail('nobody else is asked'),
  });
  assert.deepEqual(events, [
    { containerId: 'c', type: 'created' },
    { containerId: 'c', type: 'started' },
    { containerId: 'c', type: 'stopped' },
    { containerId: 'c', type: 'deleted' },
  ]);
});

test("are containerd's where it has none of CRI's", async () => {
  const events = await eventsOf({
    // oxlint-disable-next-line require-yield -- it refuses at the first step
    async *GetContainerEvents() {
      throw new GrpcError('Unimplemented', 'unknown method GetContainerEvents');
    },
    async *Subscribe() {
      const value = Buffer.from([0x0a, 1, 'c'.charCodeAt(0)]);
      yield { namespace: 'k8s.io', topic: '/tasks/start', event: { typeUrl: '', value } };
      yield { namespace: 'moby', topic: '/tasks/start', event: { typeUrl: '', value } };
    },
  });
  assert.deepEqual(events, [{ containerId: 'c', type: 'started' }]);
});

test('that break off for another reason have that error', async () => {
  const broken = eventsOf({
    // oxlint-disable-next-line require-yield -- it refuses at the first step
    async *GetContainerEvents() {
      throw new GrpcError('Unavailable', 'going down');
    },
    Subscribe: () => assert.fail('nobody else is asked'),
  });
  await assert.rejects(broken, { code: 'Unavailable' });
});
