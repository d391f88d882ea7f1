/** Feeding the watchdog under virtual time. systemd's own program: platform/node/service-manager.test.ts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createKubeletFixture } from '../fixtures/kubelet-fixture.ts';
import { startWatchdog } from './watchdog.ts';

const PERIOD_MS = 10_000;

function watched() {
  const platform = createSimPlatform();
  platform.serviceManager.watchdogPeriodMs = PERIOD_MS;
  const lifetime = new AbortController();
  const state = { problems: [] as string[], platform, lifetime };
  const start = (): void => startWatchdog({ platform, healthProblems: () => state.problems }, lifetime.signal);
  return { ...state, state, start, heard: platform.serviceManager.heard };
}

describe('the watchdog', () => {
  it('is fed at once and twice a period until the kubelet stops', async () => {
    const { platform, start, heard, lifetime } = watched();
    start();
    await platform.clock.settle();
    assert.deepEqual(heard, ['WATCHDOG=1']);
    await platform.clock.advance(PERIOD_MS);
    assert.equal(heard.length, 3);
    lifetime.abort();
    await platform.clock.advance(PERIOD_MS);
    assert.equal(heard.length, 3);
  });

  it('is not fed while the kubelet is not healthy', async () => {
    const { platform, start, heard, state } = watched();
    state.problems = ['the main loop is too slow'];
    start();
    await platform.clock.advance(PERIOD_MS);
    assert.deepEqual(heard, []);
    state.problems = [];
    await platform.clock.advance(PERIOD_MS / 2);
    assert.deepEqual(heard, ['WATCHDOG=1']);
  });

  it('is notified by a second check where the first fails, and checks go on where both do', async () => {
    const { platform, start, heard } = watched();
    const { notify } = platform.serviceManager;
    let failures = 1;
    platform.serviceManager.notify = async (state) => {
      if (failures-- > 0) throw new Error('no such program');
      return notify(state);
    };
    start();
    await platform.clock.advance(1200);
    assert.deepEqual(heard, ['WATCHDOG=1']);
    failures = 2;
    await platform.clock.advance(PERIOD_MS / 2);
    assert.equal(heard.length, 1);
    await platform.clock.advance(PERIOD_MS);
    assert.ok(heard.length > 1);
  });

  it('is disabled without a watchdog period, and refused where that is invalid', async () => {
    const { platform, start, heard } = watched();
    platform.serviceManager.watchdogPeriodMs = undefined;
    start();
    await platform.clock.advance(PERIOD_MS);
    assert.deepEqual(heard, []);
    platform.serviceManager.watchdogMs = () => {
      throw new Error('error WATCHDOG_USEC must be a positive number');
    };
    assert.throws(start, {
      message: 'create health checker: configure watchdog: error WATCHDOG_USEC must be a positive number',
    });
  });

  it('is notified by a running kubelet, and no longer once its runtime has stopped answering', async () => {
    const fixture = await createKubeletFixture();
    const { platform, runtime } = fixture;
    platform.serviceManager.watchdogPeriodMs = PERIOD_MS;
    await fixture.start();
    await platform.clock.advance(PERIOD_MS);
    const { heard } = platform.serviceManager;
    assert.ok(heard.length >= 2);
    runtime.getPods = async () => {
      throw new Error('the runtime is gone');
    };
    await platform.clock.advance(600_000);
    assert.notDeepEqual(fixture.kubelet.host.healthProblems(), []);
    const fed = heard.length;
    await platform.clock.advance(10 * PERIOD_MS);
    assert.equal(heard.length, fed);
    await fixture.stop();
  });
});
