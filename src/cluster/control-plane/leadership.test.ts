import { aborted } from '../../base/abort.ts';
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Leases } from '../../api/gen/resources.ts';
import { formatTime } from '../../api/time.ts';
import { createInProcessClient } from '../../client/in-process-transport.ts';
import { createFakeApi } from '../../client/fake-api-fixture.ts';
import { createSimCrypto } from '../../platform/sim/crypto.ts';
import { createMemoryLog } from '../../platform/sim/log.ts';
import { createMemoryMetrics } from '../../platform/sim/metrics.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { runLed } from './leadership.ts';

function setUp(shared = true) {
  const clock = new VirtualClock();
  const api = createFakeApi(() => formatTime(clock.nowMs()));
  const working: string[] = [];
  const run = (identity: string, lead?: (signal: AbortSignal) => Promise<void>) => {
    const stop = new AbortController();
    const random = createSeededRandom(identity);
    const platform = {
      clock,
      random,
      log: createMemoryLog(),
      crypto: createSimCrypto(clock),
      metrics: createMemoryMetrics(),
    };
    const clientFor: Parameters<typeof runLed>[0]['clientFor'] = (principal, userAgent) =>
      createInProcessClient({ handler: api.handler, clock, principal, userAgent });
    const work = async (signal: AbortSignal): Promise<void> => {
      working.push(identity);
      await aborted(signal);
      working.splice(working.indexOf(identity), 1);
    };
    const ended = runLed(
      { platform, clientFor, shared, identity },
      { name: 'kube-scheduler', lead: lead ?? work },
      stop.signal,
    );
    ended.catch(() => undefined);
    return { stop: () => stop.abort(new Error('bye')), ended };
  };
  const down = (is: boolean): void => {
    api.intercept = is
      ? () => {
          throw new Error('the store is away');
        }
      : undefined;
  };
  return { clock, api, run, working, down };
}

describe('components of several servers', () => {
  it('work on one at a time, and on the next when that one ends', async () => {
    const { clock, run, working, api } = setUp();
    const a = run('a');
    await clock.settle();
    const b = run('b');
    await clock.advance(60_000);
    assert.deepEqual(working, ['a']);
    a.stop();
    await clock.drive(a.ended);
    await clock.advance(5000);
    assert.deepEqual(working, ['b']);
    assert.equal(api.objects(Leases)[0]?.metadata.name, 'kube-scheduler');
    b.stop();
    await clock.drive(b.ended);
  });

  it('stop while the store is down, and continue when it is back', async () => {
    const { clock, run, working, down } = setUp();
    const a = run('a');
    await clock.advance(5000);
    down(true);
    await clock.advance(15_000);
    assert.deepEqual(working, []);
    down(false);
    await clock.advance(30_000);
    assert.deepEqual(working, ['a']);
    a.stop();
    await clock.drive(a.ended);
  });

  it('fail as a whole when their work fails', async () => {
    const { clock, run } = setUp();
    const a = run('a', () => Promise.reject(new Error('no such controller')));
    await assert.rejects(clock.drive(a.ended), { message: 'no such controller' });
  });

  it('need no lease on a server alone', async () => {
    const { clock, run, working, api } = setUp(false);
    const a = run('a');
    await clock.settle();
    assert.deepEqual([working, api.objects(Leases)], [['a'], []]);
    a.stop();
    await clock.drive(a.ended);
  });
});
