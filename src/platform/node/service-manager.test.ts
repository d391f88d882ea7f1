/** The environment that systemd sets, and notifications to it; with systemd-notify where that and Python are installed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createSimExec, type Invocation } from '../sim/exec.ts';
import { VirtualClock } from '../sim/virtual-clock.ts';
import { createMemoryLog } from '../sim/log.ts';
import { createNodeExec } from './exec.ts';
import { absentForNotify, openNotifySocket } from './notify-socket-fixture.ts';
import { createServiceManager, managedPid } from './service-manager.ts';

function simulated(env: Record<string, string>, exitCode = 0) {
  const exec = createSimExec(new VirtualClock());
  exec.program('systemd-notify', () => ({ exitCode, stderr: 'no such socket\n' }));
  return { exec, manager: createServiceManager({ exec, env, pid: 77 }) };
}

describe('the service manager', () => {
  test('reads its watchdog interval, of this process only', () => {
    for (const [env, expected] of [
      [{}, undefined],
      [{ WATCHDOG_USEC: '' }, undefined],
      [{ WATCHDOG_USEC: '30000000' }, 30_000],
      [{ WATCHDOG_USEC: '30000000', WATCHDOG_PID: '77' }, 30_000],
      [{ WATCHDOG_USEC: '30000000', WATCHDOG_PID: '78' }, undefined],
    ] as const)
      assert.equal(simulated(env).manager.watchdogMs(), expected);
    for (const [env, message] of [
      [{ WATCHDOG_USEC: 'soon' }, /^error converting WATCHDOG_USEC: /],
      [{ WATCHDOG_USEC: '0' }, /^error WATCHDOG_USEC must be a positive number$/],
      [{ WATCHDOG_USEC: '-5' }, /^error WATCHDOG_USEC must be a positive number$/],
      [{ WATCHDOG_USEC: '5', WATCHDOG_PID: 'x' }, /^error converting WATCHDOG_PID: /],
    ] as const)
      assert.throws(() => simulated(env).manager.watchdogMs(), { message });
  });

  test('is served in the name of the launcher that waits for this process, and of no other', () => {
    const own = { pid: 78, ppid: 77 };
    for (const [env, expected] of [
      [{}, 78],
      [{ KEELSON_LAUNCHER_PID: '77' }, 77],
      [{ KEELSON_LAUNCHER_PID: '5' }, 78],
      [{ KEELSON_LAUNCHER_PID: '77', KEELSON_SUPERVISOR: '77' }, 77],
      [{ KEELSON_LAUNCHER_PID: '5', KEELSON_SUPERVISOR: '77' }, 5],
      [{ KEELSON_LAUNCHER_PID: '5', KEELSON_SUPERVISOR: '6' }, 78],
    ] as const)
      assert.equal(managedPid(env, own), expected);
  });

  test('gets notifications in the name of this process, or none when it does not listen', async () => {
    const quiet = simulated({ WATCHDOG_USEC: '1000' });
    await quiet.manager.notify('READY=1');
    assert.deepEqual(quiet.exec.invocations, []);
    const { exec, manager } = simulated({ NOTIFY_SOCKET: '/run/notify' });
    await manager.notify('READY=1');
    const [{ file, args, options }] = exec.invocations as [Invocation];
    assert.deepEqual([file, ...args], ['systemd-notify', '--no-block', '--pid=77', 'READY=1']);
    assert.equal(options.env?.['NOTIFY_SOCKET'], '/run/notify');
    await assert.rejects(simulated({ NOTIFY_SOCKET: '/x' }, 1).manager.notify('READY=1'), {
      message: 'systemd-notify READY=1: exit code 1: no such socket',
    });
  });

  test('receives datagrams with our pid', { skip: absentForNotify && `needs ${absentForNotify}` }, async () => {
    const exec = createNodeExec(createMemoryLog());
    const socket = await openNotifySocket();
    try {
      const manager = createServiceManager({ exec, env: { NOTIFY_SOCKET: socket.path }, pid: process.pid });
      for (const state of ['READY=1', 'WATCHDOG=1']) {
        await manager.notify(state);
        const line = await socket.next();
        assert.ok(line.split(' ').includes(state), line);
        if (process.getuid?.() === 0) assert.equal(line.split(' ')[0], String(process.pid), line);
      }
    } finally {
      await socket.close();
      exec.close();
    }
  });
});
