/** Shutdowns of a logind on a bus of the test, under virtual time. Real D-Bus: test/integration/dbus.test.ts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onAbort } from '../../base/abort.ts';
import { createSimPlatform, type SimPlatform } from '../../platform/sim/sim-platform.ts';
import { createDuplexPair } from '../../platform/sim/streams.ts';
import type { Duplex } from '../../platform/streams.ts';
import { serveBus } from '../dbus/bus-fixture.ts';
import { type DbusMessage, encodeMessage, MESSAGE_TYPES } from '../dbus/dbus-codec.ts';
import type { DbusValue } from '../dbus/dbus-wire.ts';
import { createLogindSource } from './logind.ts';

/** A message bus with logind and systemd on it. */
interface Machine {
  readonly platform: SimPlatform;
  readonly calls: string[];
  delaySeconds: number;
  /** The maximum delay after a reload of its configuration. */
  reloadedSeconds: number;
  /** False: connections to the socket are refused. */
  reachable: boolean;
  inhibitors: string[];
  signal(member: string, ...body: DbusValue[]): Promise<void>;
  drop(): void;
}

const BOOLEAN_SIGNAL = 'b';

function machine(): Machine {
  const platform = createSimPlatform();
  let bus: Duplex | undefined;
  let serial = 0;
  const made: Machine = {
    platform,
    calls: [],
    delaySeconds: 5,
    reloadedSeconds: 60,
    reachable: true,
    inhibitors: [],
    async signal(member, ...body) {
      const path = '/org/freedesktop/login1';
      const head = { type: MESSAGE_TYPES.signal, serial: ++serial, path, interface: 'org.freedesktop.login1.Manager' };
      await bus?.write(encodeMessage({ ...head, member, signature: BOOLEAN_SIGNAL, body }));
    },
    drop: () => bus?.destroy(),
  };
  platform.net.dial = async () => {
    if (!made.reachable) throw Object.assign(new Error('connect ENOENT'), { code: 'ENOENT' });
    const [ours, theirs] = createDuplexPair();
    bus = theirs;
    // The end of the server closes the connection.
    serveBus(theirs, (message) => answer(made, message)).catch(() => undefined);
    return ours;
  };
  platform.exec.program('systemd-inhibit', ({ args, options }) => {
    const who = args.find((arg) => arg.startsWith('--who='))?.slice(6) ?? '';
    assert.deepEqual(args.slice(-5), ['tail', '--pid', '77', '-f', '/dev/null']);
    made.inhibitors.push(who);
    onAbort(options.signal, () => (made.inhibitors = []));
    return new Promise(() => undefined);
  });
  return made;
}

function answer(made: Machine, { member = '', body }: DbusMessage): readonly [string, readonly DbusValue[]] {
  made.calls.push([member, ...body].join(' '));
  if (member === 'KillUnit') made.delaySeconds = made.reloadedSeconds;
  if (member === 'Get') return ['v', [['t', BigInt(made.delaySeconds) * 1_000_000n]]];
  if (member === 'ListInhibitors')
    return ['a(ssssuu)', [made.inhibitors.map((who) => ['shutdown', who, 'why', 'delay', 0, 0])]];
  return ['', []];
}

function listen(made: Machine, graceMs = 30_000) {
  const heard: boolean[] = [];
  const source = createLogindSource(made.platform, { graceMs, pid: 77, uid: 0 });
  const stop = source.onShutdown((active) => heard.push(active));
  return { heard, source, stop };
}

describe('shutdowns that logind announces', () => {
  it('are inhibited and reported, and released once the pods have ended', async () => {
    const made = machine();
    made.delaySeconds = 30;
    const { heard, source, stop } = listen(made);
    await made.platform.clock.advance(1_000);
    assert.deepEqual(made.inhibitors, ['kubelet']);
    assert.ok(
      made.calls.some((call) => call.startsWith("AddMatch type='signal'")),
      made.calls.join('\n'),
    );
    assert.ok(!made.calls.some((call) => call.startsWith('KillUnit')), 'its time suffices');
    await made.signal('PrepareForShutdown', true);
    await made.platform.clock.advance(100);
    assert.deepEqual([heard, made.inhibitors], [[true], ['kubelet']]);
    source.release();
    await made.platform.clock.advance(100);
    assert.deepEqual(made.inhibitors, []);
    await made.signal('PrepareForShutdown', false);
    await made.platform.clock.advance(1_000);
    assert.deepEqual([heard, made.inhibitors], [[true, false], ['kubelet']], 'the next one is held back again');
    stop();
    await made.platform.clock.advance(5_000);
    assert.deepEqual([made.inhibitors, made.platform.clock.pendingTimers], [[], 0]);
  });

  it('are inhibited as long as pods may need, by the configuration of logind', async () => {
    const made = machine();
    const { stop } = listen(made);
    await made.platform.clock.advance(1_000);
    const path = '/etc/systemd/logind.conf.d/99-kubelet.conf';
    assert.match(await made.platform.files.readText(path), /^\[Login\]\nInhibitDelayMaxSec=30$/m);
    assert.ok(made.calls.includes('KillUnit systemd-logind.service all 1'));
    assert.deepEqual(made.inhibitors, ['kubelet']);
    stop();
  });

  it('cannot be inhibited where logind limits the time, which is logged and retried', async () => {
    const made = machine();
    made.reloadedSeconds = 10;
    const { stop } = listen(made);
    const errors = () =>
      made.platform.log.entries.filter(({ level }) => level === 'error').map(({ fields }) => String(fields['err']));
    await made.platform.clock.advance(30_000);
    assert.equal(errors().length, 1, 'once');
    assert.match(
      errors()[0] ?? '',
      /current value of InhibitDelayMaxSec \(10s\) is less than requested ShutdownGracePeriod/,
    );
    assert.deepEqual(made.inhibitors, []);
    made.delaySeconds = 30;
    await made.platform.clock.advance(10_000);
    assert.deepEqual(made.inhibitors, ['kubelet']);
    stop();
  });

  it('are followed again when the bus was away', async () => {
    const made = machine();
    made.delaySeconds = 30;
    const { heard, stop } = listen(made);
    await made.platform.clock.advance(1_000);
    made.reachable = false;
    made.drop();
    await made.platform.clock.advance(5_000);
    assert.deepEqual(made.inhibitors, []);
    made.reachable = true;
    await made.platform.clock.advance(5_000);
    assert.deepEqual(made.inhibitors, ['kubelet']);
    await made.signal('PrepareForShutdown', true);
    await made.platform.clock.advance(100);
    assert.deepEqual(heard, [true]);
    stop();
  });
});
