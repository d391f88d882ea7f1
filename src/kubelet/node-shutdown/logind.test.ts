/** Shutdowns told by a logind on a bus of the test's own, under virtual time. Real D-Bus: test/integration/dbus.test.ts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDuplexPair } from '../../platform/sim/streams.ts';
import { createSimPlatform, type SimPlatform } from '../../platform/sim/sim-platform.ts';
import type { Duplex } from '../../platform/streams.ts';
import { decodeMessage, encodeMessage, MESSAGE_TYPES, type DbusMessage, type DbusValue } from './dbus-codec.ts';
import { createLogindSource } from './logind.ts';

/** A message bus with logind and systemd on it. */
interface Machine {
  readonly platform: SimPlatform;
  readonly calls: string[];
  delaySeconds: number;
  /** What a reload of its configuration makes of it. */
  reloadedSeconds: number;
  /** False: nobody answers on the socket. */
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
    // Its end is the end of the connection.
    serve(theirs, (message) => answer(made, message)).catch(() => undefined);
    return ours;
  };
  platform.exec.program('systemd-inhibit', ({ args, options }) => {
    const who = args.find((arg) => arg.startsWith('--who='))?.slice(6) ?? '';
    assert.deepEqual(args.slice(-5), ['tail', '--pid', '77', '-f', '/dev/null']);
    made.inhibitors.push(who);
    options.signal?.addEventListener('abort', () => (made.inhibitors = []), { once: true });
    return new Promise(() => undefined);
  });
  return made;
}

function answer(made: Machine, { member = '', body }: DbusMessage): readonly [string, readonly DbusValue[]] {
  made.calls.push([member, ...body].join(' '));
  if (member === 'KillUnit') made.delaySeconds = made.reloadedSeconds;
  if (member === 'Get') return ['t', [BigInt(made.delaySeconds) * 1_000_000n]];
  if (member === 'ListInhibitors') return ['a(ssssuu)', made.inhibitors];
  return ['', []];
}

/** Says yes to who authenticates, then answers calls. */
async function serve(stream: Duplex, handle: (message: DbusMessage) => readonly [string, readonly DbusValue[]]) {
  let rest = Buffer.alloc(0);
  let begun = false;
  for await (const part of stream.incoming) {
    rest = Buffer.concat([rest, part]);
    if (!begun) {
      const text = rest.toString('latin1');
      if (text === '\0AUTH EXTERNAL 30\r\n') await stream.write('OK 1234\r\n');
      const at = text.indexOf('BEGIN\r\n');
      if (at < 0) continue;
      begun = true;
      rest = rest.subarray(at + 7);
    }
    for (let next = decodeMessage(rest); next !== undefined; next = decodeMessage(rest)) {
      rest = rest.subarray(next.bytes);
      const [signature, body] = handle(next.message);
      await stream.write(reply(next.message.serial, signature, body));
    }
  }
}

/** Answers with types the encoder does not write are put together here: a number of 64 bits in a variant, and a list. */
function reply(replySerial: number, signature: string, body: readonly DbusValue[]): Buffer {
  const head = { type: MESSAGE_TYPES.answer, serial: replySerial, replySerial };
  if (signature === '') return encodeMessage({ ...head, body: [] });
  const bytes = signature === 't' ? variantOf(body[0] as bigint) : inhibitorsOf(body.map(String));
  const whole = encodeMessage({ ...head, signature: 's', body: ['x'] });
  const at = whole.length - 6; // Replace the body of one text: its length, one letter, a zero byte.
  whole.writeUInt32LE(bytes.length, 4);
  const typed = signature === 't' ? 'v' : signature;
  return Buffer.concat([withSignature(whole.subarray(0, at), typed), bytes]);
}

function withSignature(head: Buffer, signature: string): Buffer {
  // The signature is the last header field: code 8, type g, then a length, the text and a zero byte.
  const field = head.lastIndexOf(Buffer.from([8, 1, 'g'.charCodeAt(0), 0]));
  const text = Buffer.from([8, 1, 'g'.charCodeAt(0), 0, signature.length, ...Buffer.from(signature), 0]);
  const fields = Buffer.concat([head.subarray(0, field), text]);
  fields.writeUInt32LE(fields.length - 16, 12);
  return Buffer.concat([fields, Buffer.alloc((8 - (fields.length % 8)) % 8)]);
}

function variantOf(value: bigint): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.set([1, 't'.charCodeAt(0), 0]);
  bytes.writeBigUInt64LE(value, 8);
  return bytes;
}

function inhibitorsOf(names: readonly string[]): Buffer {
  const structs: Buffer[] = [];
  for (const who of names) {
    const parts: Buffer[] = [];
    let length = 0;
    const add = (part: Buffer): void => void (parts.push(part), (length += part.length));
    for (const text of ['shutdown', who, 'why', 'delay']) {
      add(Buffer.alloc((4 - (length % 4)) % 4));
      const size = Buffer.alloc(4);
      size.writeUInt32LE(text.length);
      add(Buffer.concat([size, Buffer.from(text), Buffer.alloc(1)]));
    }
    add(Buffer.alloc((4 - (length % 4)) % 4));
    add(Buffer.alloc(8));
    add(Buffer.alloc((8 - (length % 8)) % 8));
    structs.push(Buffer.concat(parts));
  }
  const all = Buffer.concat(structs);
  const size = Buffer.alloc(8);
  size.writeUInt32LE(all.length);
  return Buffer.concat([size, all]);
}

function listen(made: Machine, graceMs = 30_000) {
  const heard: boolean[] = [];
  const source = createLogindSource(made.platform, { graceMs, pid: 77, uid: 0 });
  const stop = source.onShutdown((active) => heard.push(active));
  return { heard, source, stop };
}

describe('shutdowns told by logind', () => {
  it('are held back and told, and let go once the pods have ended', async () => {
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

  it('are waited for as long as pods may take: logind is told so', async () => {
    const made = machine();
    const { stop } = listen(made);
    await made.platform.clock.advance(1_000);
    const path = '/etc/systemd/logind.conf.d/99-kubelet.conf';
    assert.match(await made.platform.files.readText(path), /^\[Login\]\nInhibitDelayMaxSec=30$/m);
    assert.ok(made.calls.includes('KillUnit systemd-logind.service all 1'));
    assert.deepEqual(made.inhibitors, ['kubelet']);
    stop();
  });

  it('cannot be held back where logind does not grant the time, which is said and tried again', async () => {
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
