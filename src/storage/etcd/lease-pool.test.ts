import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GrpcError } from '../../grpc/grpc-error.ts';

import { createSeededRandom } from '../../platform/sim/random.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { storeErrorOf } from './errors.ts';
import { LeasePool } from './lease-pool.ts';

/** A pool whose member answers each grant with this refusal. */
function poolWith(detail: string): LeasePool {
  const call = (): Promise<never> =>
    Promise.reject(
      storeErrorOf(new GrpcError('FailedPrecondition', detail), { doing: 'granting a lease', writes: false }),
    );
  return new LeasePool({ client: { call }, clock: new VirtualClock(), random: createSeededRandom(1) });
}

test('a lease that an earlier attempt created, whose answer was lost, is used', async () => {
  assert.ok((await poolWith('etcdserver: lease already exists').leaseFor(60)) > 0);
});

test('a lease that is refused is not', async () => {
  await assert.rejects(poolWith('etcdserver: too many leases').leaseFor(60), /too many leases/);
});
