/** Calls and signals over a real message bus, dbus-daemon. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { DbusMessage } from '../../src/kubelet/dbus/dbus-codec.ts';
import { addMatch, connectDbus } from '../../src/kubelet/dbus/dbus-connection.ts';
import { createNodeNet } from '../../src/platform/node/net.ts';
import { must, start, type Running } from './fixtures/programs.ts';
import { until } from './fixtures/until.ts';

const net = createNodeNet();
let directory: string;
let socket: string;
let daemon: Running;

/** Debian's packages dbus-daemon and dbus-bin. */
const missing = ['dbus-daemon', 'dbus-send'].filter((name) => !existsSync(`/usr/bin/${name}`));
const skip = missing.length > 0 && `${missing.join(' and ')} not installed`;

before(async () => {
  if (skip) return;
  directory = mkdtempSync(join(tmpdir(), 'keelson-dbus-'));
  socket = join(directory, 'bus');
  daemon = start('dbus-daemon', ['--session', '--nofork', `--address=unix:path=${socket}`, '--print-address']);
  await daemon.until(/unix:path=/);
});
after(async () => {
  if (skip) return;
  daemon.kill();
  await daemon.ended();
  net.close();
  rmSync(directory, { recursive: true });
});

const bus = { destination: 'org.freedesktop.DBus', path: '/org/freedesktop/DBus', interface: 'org.freedesktop.DBus' };

test('calls return the reply or the error of the bus', { skip }, async () => {
  const connection = await connectDbus(await net.dial({ unixPath: socket }), {
    uid: process.getuid?.() ?? 0,
    onSignal: () => undefined,
  });
  const [names] = await connection.call({ ...bus, member: 'ListNames' });
  assert.ok((names as string[]).includes('org.freedesktop.DBus'));
  const [has] = await connection.call({ ...bus, member: 'NameHasOwner', signature: 's', body: ['org.none'] });
  assert.equal(has, false);
  await assert.rejects(
    connection.call({ ...bus, member: 'GetNameOwner', signature: 's', body: ['org.none'] }),
    /^Error: org\.freedesktop\.DBus\.Error\.NameHasNoOwner: /,
  );
  // The bus closes connections that send malformed messages.
  const properties = [
    ['Description', ['s', 'text']],
    ['Wants', ['as', ['a.slice', 'b.slice']]],
    ['DefaultDependencies', ['b', false]],
    ['MemoryMax', ['t', 2n ** 64n - 1n]],
  ] as const;
  const start = { destination: 'org.none', path: '/none', interface: 'org.none', member: 'Start' };
  await assert.rejects(
    connection.call({ ...start, signature: 'ssa(sv)a(sa(sv))', body: ['a', 'b', properties, [['c', properties]]] }),
    /^Error: org\.freedesktop\.DBus\.Error\.ServiceUnknown: /,
  );
  assert.ok((await connection.call({ ...bus, member: 'ListNames' })).length > 0);
  connection.close();
  await connection.closed;
  await assert.rejects(connection.call({ ...bus, member: 'ListNames' }), /closed/);
});

test('subscribed signals arrive, and the end of the bus is noticed', { skip }, async () => {
  const signals: DbusMessage[] = [];
  const connection = await connectDbus(await net.dial({ unixPath: socket }), {
    uid: process.getuid?.() ?? 0,
    onSignal: (signal) => signals.push(signal),
  });
  await addMatch(connection, "type='signal',interface='org.freedesktop.login1.Manager',member='PrepareForShutdown'");
  const to = [`--bus=unix:path=${socket}`, '--type=signal', '/org/freedesktop/login1'];
  await must('dbus-send', [...to, 'org.freedesktop.login1.Manager.PrepareForShutdown', 'boolean:true']);
  const signal = await until('the signal', async () => signals.find(({ member }) => member === 'PrepareForShutdown'));
  assert.deepEqual([signal.path, signal.body], ['/org/freedesktop/login1', [true]]);
  daemon.kill();
  await connection.closed;
});

test('a rejected client gets an error that names the reason', { skip }, async () => {
  const { createServer } = await import('node:net');
  const refusing = createServer((peer) => peer.end('REJECTED DBUS_COOKIE_SHA1\r\n'));
  const path = join(directory, 'refusing');
  await new Promise<void>((resolve) => refusing.listen(path, resolve));
  await assert.rejects(
    connectDbus(await net.dial({ unixPath: path }), { uid: 0, onSignal: () => undefined }),
    /the message bus refuses: REJECTED/,
  );
  refusing.close();
});
