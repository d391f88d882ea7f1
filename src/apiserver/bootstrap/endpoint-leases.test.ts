import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLog } from '../../platform/sim/log.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import type { Store } from '../../storage/store.ts';
import { createEndpointLeases } from './endpoint-leases.ts';

test('a server that shuts down waits a few seconds for a store that does not answer', async () => {
  const clock = new VirtualClock();
  const store = {
    latestRevision: async () => 1,
    put: async () => ({ ok: true, revision: 1 }),
    delete: () => new Promise(() => undefined),
  } as unknown as Store;
  const leases = createEndpointLeases({ store, clock, log: createMemoryLog() }, { ip: '192.0.2.1', port: 6443 });
  await leases.start(() => undefined);
  await clock.drive(leases.stop());
  assert.ok(clock.monotonicMs() <= 5_000, String(clock.monotonicMs()));
});
