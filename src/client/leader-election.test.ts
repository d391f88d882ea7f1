import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onAbort } from '../base/abort.ts';
import { Leases } from '../api/gen/resources.ts';
import { serviceUnavailable } from '../api/status-error.ts';
import { createMemoryMetrics } from '../platform/sim/metrics.ts';
import { createMemoryLog } from '../platform/sim/log.ts';
import { createSeededRandom } from '../platform/sim/random.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { createInProcessClient } from './in-process-transport.ts';
import { runLeaderElection } from './leader-election.ts';
import { createFakeApi } from './fake-api-fixture.ts';

function setUp() {
  const clock = new VirtualClock();
  const api = createFakeApi(() => '2026-01-01T00:00:00Z');
  const client = createInProcessClient({
    handler: api.handler,
    clock,
    principal: { name: 'a', groups: [] },
    userAgent: 'test',
  });
  const leading: string[] = [];
  const run = (identity: string) => {
    const stop = new AbortController();
    const metrics = createMemoryMetrics();
    const deps = { client, clock, random: createSeededRandom(identity), log: createMemoryLog(), metrics };
    const ended = runLeaderElection(
      deps,
      {
        namespace: 'kube-system',
        name: 'test',
        identity,
        lead: (signal) => {
          leading.push(identity);
          return new Promise((resolve) =>
            onAbort(signal, () => {
              leading.splice(leading.indexOf(identity), 1);
              resolve();
            }),
          );
        },
      },
      stop.signal,
    );
    return { stop, ended, status: () => metrics.value('leader_election_master_status', { name: 'test' }) };
  };
  const holder = () => api.objects(Leases)[0]?.spec?.holderIdentity;
  return { clock, api, run, leading, holder };
}

describe('leader election', () => {
  it('has one leader; a clean stop hands over soon', async () => {
    const { clock, run, leading, holder } = setUp();
    const a = run('a');
    await clock.settle();
    const b = run('b');
    await clock.advance(60_000);
    assert.deepEqual(leading, ['a']);
    assert.deepEqual([a.status(), b.status()], [1, 0]);
    a.stop.abort(new Error('bye'));
    await a.ended;
    assert.equal(holder(), '');
    await clock.advance(5000);
    assert.deepEqual([leading, holder()], [['b'], 'b']);
    assert.deepEqual([a.status(), b.status()], [0, 1]);
    b.stop.abort(new Error('bye'));
    await b.ended;
  });

  it('releases the lease although its last renewal was interrupted after it arrived', async () => {
    const { clock, api, run, holder } = setUp();
    const a = run('a');
    await clock.advance(500);
    const lease = api.objects(Leases)[0]!;
    api.seed(Leases, { ...lease, spec: { ...lease.spec, renewTime: '2026-01-01T00:00:01.000000Z' } });
    a.stop.abort(new Error('bye'));
    await clock.drive(a.ended);
    assert.equal(holder(), '');
  });

  it('waits a whole lease duration by its own clock for a holder that fell silent', async () => {
    const { clock, api, run, leading } = setUp();
    // The holder wrote an old renew time; clocks may differ, so this proves no expiry.
    api.seed(Leases, {
      metadata: { namespace: 'kube-system', name: 'test' },
      spec: {
        holderIdentity: 'dead',
        leaseDurationSeconds: 15,
        renewTime: '2020-01-01T00:00:00.000000Z',
        leaseTransitions: 3,
      },
    });
    const b = run('b');
    await clock.advance(14_000);
    assert.deepEqual(leading, []);
    await clock.advance(7000);
    assert.deepEqual(leading, ['b']);
    assert.equal(api.objects(Leases)[0]?.spec?.leaseTransitions, 4);
    b.stop.abort(new Error('bye'));
    await b.ended;
  });

  it('stops leading when it cannot renew for ten seconds', async () => {
    const { clock, api, run, leading } = setUp();
    const a = run('a');
    await clock.advance(5000);
    api.intercept = () => {
      throw serviceUnavailable('down');
    };
    await clock.advance(8000);
    assert.deepEqual(leading, ['a']);
    await clock.advance(5000);
    assert.deepEqual(leading, []);
    await clock.drive(a.ended);
  });
});
