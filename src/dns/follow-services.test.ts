import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLog } from '../platform/sim/log.ts';
import { followServices } from './follow-services.ts';
import { createZone } from './zone.ts';

interface Handler {
  onAdd(object: unknown): void;
}

/** Informers whose handlers the test calls; pauses last until `resume`. */
function setUp() {
  const handlers: Handler[] = [];
  const informer = () => ({ addHandler: (handler: Handler) => handlers.push(handler), hasSynced: () => true });
  const zone = createZone('cluster.local');
  let resume = (): void => undefined;
  const clock = { yield: () => new Promise<void>((resolve) => (resume = resolve)) };
  followServices({ informer } as never, zone, { clock, log: createMemoryLog() });
  const [services] = handlers;
  const add = (name: string, ports = 0): void =>
    services!.onAdd({
      metadata: { name, namespace: 'n' },
      spec: {
        clusterIP: '10.43.0.1',
        ports: Array.from({ length: ports }, (_, at) => ({ name: `p${at}`, port: at + 1 })),
      },
    });
  return { zone, add, resume: () => resume() };
}

test('a change while the last turn of earlier ones ends is taken', async () => {
  for (let turns = 0; turns < 10; turns++) {
    const { zone, add, resume } = setUp();
    add('large', 3000);
    assert.ok(!zone.isSettled());
    resume();
    for (let turn = 0; turn < turns; turn++) await undefined;
    add('late');
    for (let turn = 0; turn < 20; turn++) await undefined;
    assert.equal(zone.lookup('late.n.svc.cluster.local', 'A')?.length, 1, `after ${turns} turns`);
    assert.ok(zone.isSettled());
  }
});
