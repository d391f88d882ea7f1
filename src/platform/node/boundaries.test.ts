/** A callback of the platform that throws ends only its own tick, datagram, connection or call: the next is served. */
import assert from 'node:assert/strict';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createMemoryLog, type MemoryLog } from '../sim/log.ts';
import { background } from '../unexpected.ts';
import { createNodeClock } from './clock.ts';
import { createNodeDatagrams } from './datagrams.ts';
import { createNodeFiles } from './files.ts';
import { createNodeNet } from './net.ts';
import { createNodePlatform } from './node-platform.ts';
import { createListenRpc } from './rpc-server.ts';

let directory: string;
/** The clock's timers keep no process alive. */
let alive: NodeJS.Timeout;
before(async () => {
  alive = setInterval(() => undefined, 1000);
  directory = await mkdtemp(join(tmpdir(), 'boundaries-'));
});
after(async () => {
  clearInterval(alive);
  await rm(directory, { recursive: true });
});

/** Throws at its first call; `again` resolves at its second. */
function throwsOnce<A extends unknown[]>(): { callback: (...args: A) => void; again: Promise<A> } {
  const { promise, resolve } = Promise.withResolvers<A>();
  let calls = 0;
  const callback = (...args: A): void => {
    if (calls++ === 0) throw new TypeError('broken');
    resolve(args);
  };
  return { callback, again: promise };
}

function assertLoggedOnce(log: MemoryLog): void {
  assert.deepEqual(
    log.entries.map(({ level, fields }) => [level, (fields['err'] as Error).message]),
    [['error', 'broken']],
  );
}

test('a ticker continues after a tick that threw, and a timer that throws affects no other', async () => {
  const log = createMemoryLog();
  const clock = createNodeClock(log);
  const { callback, again } = throwsOnce();
  const stop = clock.setTicker(1, callback);
  await again;
  stop();
  assertLoggedOnce(log);
  clock.setTimer(0, () => {
    throw new TypeError('broken');
  });
  await clock.sleep(2);
  assert.equal(log.entries.length, 2);
});

test('the datagram after one that threw is handled, and so is the next connection', async () => {
  const log = createMemoryLog();
  const datagrams = createNodeDatagrams(log);
  const at = { address: '127.0.0.1', port: 0 };
  const { callback, again } = throwsOnce<[Uint8Array, unknown]>();
  const socket = await datagrams.openDatagrams(at, callback);
  const client = await datagrams.openDatagrams(at, () => undefined);
  client.send(Buffer.from('one'), socket.local);
  client.send(Buffer.from('two'), socket.local);
  assert.equal(Buffer.from((await again)[0]).toString(), 'two');
  assertLoggedOnce(log);
  await Promise.all([socket.close(), client.close()]);

  const net = createNodeNet();
  const connections = throwsOnce();
  const server = await datagrams.listenStreams(at, connections.callback);
  const first = await net.dial({ host: '127.0.0.1', port: server.local.port });
  for await (const chunk of first.incoming) assert.fail(String(chunk));
  const second = await net.dial({ host: '127.0.0.1', port: server.local.port });
  await connections.again;
  first.destroy();
  second.destroy();
  await server.close();
  net.close();
  assert.equal(log.entries.length, 2);
});

test('a file watcher continues after a change whose callback threw', async () => {
  const log = createMemoryLog();
  const file = join(directory, 'watched');
  await writeFile(file, '0');
  const { callback, again } = throwsOnce();
  const watching = createNodeFiles(log).watch(file, callback, (error) => assert.fail(error));
  let isSeen = false;
  void again.then(() => (isSeen = true));
  for (let round = 0; !isSeen; round++) {
    await writeFile(file, String(round));
    await createNodeClock().sleep(5);
  }
  watching.stop();
  assertLoggedOnce(log);
});

test('a path with a zero byte is refused by the system, for every call', async () => {
  const files = createNodeFiles(createMemoryLog());
  const path = `${directory}/a\0b`;
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    readFile: () => files.readFile(path),
    readText: () => files.readText(path),
    writeFile: () => files.writeFile(path, 'a\0b'),
    writeFileAtomic: () => files.writeFileAtomic(path, 'a'),
    open: () => files.open(path, 'r'),
    openPath: () => files.openPath(path),
    exists: () => files.exists(path),
    stat: () => files.stat(path),
    lstat: () => files.lstat(path),
    readDir: () => files.readDir(path),
    makeDir: () => files.makeDir(path),
    remove: () => files.remove(path),
    removeDir: () => files.removeDir(path),
    rename: () => files.rename(directory, path),
    symlink: () => files.symlink(directory, path),
    readLink: () => files.readLink(path),
    chmod: () => files.chmod(path, 0o600),
    chown: () => files.chown(path, 0, 0),
    statFileSystem: () => files.statFileSystem(path),
  };
  for (const [name, call] of Object.entries(calls)) await assert.rejects(call, { code: 'EINVAL' }, name);
  assert.deepEqual(new Set([...Object.keys(calls), 'watch']), new Set(Object.keys(files)));
});

test('a call whose handler throws, at once or later, affects no other; the connection serves the next', async () => {
  const log = createMemoryLog();
  const socketPath = join(directory, 'rpc.sock');
  const server = await createListenRpc(log)(socketPath, (call) => {
    if (call.path === '/throws') throw new TypeError('broken');
    if (call.path === '/rejects') return Promise.reject(new TypeError('broken'));
    // Trailers that HTTP/2 refuses are found when they are sent.
    call.end({ [call.path === '/trailers' ? ':status' : 'grpc-status']: '0' });
    return Promise.resolve();
  });
  const session = connectHttp2('http://localhost', { path: socketPath } as object);
  const ask = (path: string): Promise<boolean> =>
    new Promise((resolve) => {
      const stream = session.request({ ':path': path, ':method': 'POST' }, { endStream: true });
      let isWhole = false;
      stream.on('trailers', () => (isWhole = true)).on('error', () => (isWhole = false));
      stream.on('close', () => resolve(isWhole)).resume();
    });
  for (const path of ['/throws', '/rejects', '/trailers']) assert.equal(await ask(path), false, path);
  assert.equal(await ask('/fine'), true);
  assert.equal(log.entries.length, 2);
  session.destroy();
  await server.close();
});

test('work in the background that fails is logged with its stack, and counted under its component', async () => {
  for (const format of ['json', 'text'] as const) {
    const file = await open(join(directory, format), 'w');
    const platform = createNodePlatform({ startSpawner: false, log: { fd: file.fd, format } });
    background(platform.log.child('a').child('b'), 'a task failed', Promise.reject(new TypeError('broken')));
    await new Promise(setImmediate);
    assert.match(await platform.metrics.expose(), /^keelson_unexpected_errors_total\{component="a\.b"\} 1$/m);
    assert.match(
      await readFile(join(directory, format), 'utf8'),
      /a task failed[^]*boundaries\.test|boundaries\.test[^]*a task failed/,
    );
    platform.close();
    await file.close();
  }
});
