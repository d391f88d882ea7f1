import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { onAbort } from '../../base/abort.ts';
import type { HttpAnswer } from '../net.ts';
import { sha256Hex } from './sha256.ts';
import { createSimPlatform } from './sim-platform.ts';

async function readAll(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

test('sha256 agrees with Node', () => {
  for (const length of [0, 1, 55, 56, 63, 64, 65, 1000]) {
    const data = new Uint8Array(length).map((_, index) => index * 7);
    assert.equal(sha256Hex(data), createHash('sha256').update(data).digest('hex'), String(length));
  }
});

test('WebCrypto holds virtual time still', async () => {
  const { clock, crypto } = createSimPlatform();
  const order: string[] = [];
  clock.setTimer(1, () => {
    void crypto.webcrypto.subtle
      .generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify'])
      .then(() => order.push(`key at ${clock.monotonicMs()}`));
  });
  clock.setTimer(2, () => order.push('next'));
  await clock.advance(5);
  assert.deepEqual(order, ['key at 1', 'next']);
  assert.equal(crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('b')), false);
  assert.equal(crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('a')), true);
});

describe('files', () => {
  test('behave as a file system', async () => {
    const { files, clock } = createSimPlatform({ startMs: 5000 });
    await files.makeDir('/a/b', { mode: 0o700 });
    await files.writeFile('/a/b/f', 'one', { mode: 0o600 });
    await clock.advance(1000);
    await files.writeFileAtomic('/a/b/f', 'two', { mode: 0o640 });
    const stat = await files.stat('/a/b/f');
    assert.deepEqual([stat.kind, stat.mode, stat.sizeBytes, stat.mtimeMs], ['file', 0o640, 3, 6000]);
    await files.symlink('b', '/a/link');
    assert.equal(await files.readText('/a/link/f'), 'two');
    assert.equal((await files.lstat('/a/link')).kind, 'symlink');
    await files.writeFile('/a/link/g', 'through');
    assert.deepEqual(files.snapshot(), { '/a/b/f': 'two', '/a/b/g': 'through', '/a/link': '-> b' });
    await files.rename('/a/b/g', '/a/h');
    assert.deepEqual(await files.readDir('/a'), ['b', 'h', 'link']);
    await files.remove('/a/link');
    assert.equal(await files.exists('/a/b/f'), true);
    await files.remove('/a');
    await files.remove('/a');
    assert.deepEqual(files.snapshot(), {});
  });

  test('fail with the codes of Node', async () => {
    const { files } = createSimPlatform();
    await files.makeDir('/d/e');
    await files.writeFile('/f', 'x');
    await files.symlink('/loop', '/loop');
    const cases: [Promise<unknown>, string][] = [
      [files.readFile('/none'), 'ENOENT'],
      [files.readFile('/d'), 'EISDIR'],
      [files.readFile('/f/x'), 'ENOTDIR'],
      [files.writeFile('/none/x', ''), 'ENOENT'],
      [files.makeDir('/f'), 'EEXIST'],
      [files.makeDir('/f/x'), 'ENOTDIR'],
      [files.removeDir('/d'), 'ENOTEMPTY'],
      [files.readDir('/f'), 'ENOTDIR'],
      [files.symlink('x', '/f'), 'EEXIST'],
      [files.readFile('/loop'), 'ELOOP'],
      [files.rename('/none', '/x'), 'ENOENT'],
      [files.rename('/d', '/d/e/x'), 'EINVAL'],
      [files.readLink('/f'), 'EINVAL'],
    ];
    for (const [call, code] of cases) await assert.rejects(call, { code });
  });

  test('append, read pieces, watch', async () => {
    const { files, clock } = createSimPlatform();
    await files.makeDir('/w');
    let changes = 0;
    const watch = files.watch('/w', () => changes++, assert.fail);
    const handle = await files.open('/w/log', 'a');
    await handle.append('hello ');
    await handle.append('world');
    assert.equal(Buffer.from(await handle.read(6, 100)).toString(), 'world');
    await handle.close();
    await assert.rejects(handle.append('x'), { code: 'EBADF' });
    await clock.settle();
    assert.ok(changes > 0);
    watch.stop();
    const before = changes;
    await files.writeFile('/w/other', '');
    await clock.settle();
    assert.equal(changes, before);
    const error = await new Promise<NodeJS.ErrnoException>((resolve) => files.watch('/none', () => undefined, resolve));
    assert.equal(error.code, 'ENOENT');
  });
});

describe('programs', () => {
  test('run as scripted, time out on virtual time, and fail without a script', async () => {
    const { exec, clock } = createSimPlatform();
    exec.program('nft', ({ args, options }) => ({ stdout: `${args.join(' ')} ${String(options.input)}` }));
    exec.program('hang', () => new Promise(() => undefined));
    const done = await exec.run('/usr/sbin/nft', ['-f', '-'], { input: 'table' });
    assert.deepEqual(done, { exitCode: 0, stdout: '-f - table', stderr: '', timedOut: false });
    const hung = await clock.drive(exec.run('hang', [], { timeoutMs: 500 }));
    assert.deepEqual([hung.timedOut, hung.exitCode, clock.monotonicMs()], [true, 137, 500]);
    await assert.rejects(exec.run('none', []), { code: 'ENOENT' });
    const controller = new AbortController();
    const aborted = exec.run('hang', [], { signal: controller.signal });
    controller.abort(new Error('no more'));
    await assert.rejects(aborted, /no more/);
    assert.deepEqual(
      exec.invocations.map(({ file }) => file),
      ['/usr/sbin/nft', 'hang', 'hang'],
    );
  });

  test('daemons live until killed', async () => {
    const { exec } = createSimPlatform();
    exec.program('containerd', () => ({}));
    const pid = await exec.startDaemon('containerd', [], { logFile: '/log' });
    assert.equal(exec.kill(pid, 0), true);
    assert.equal(exec.kill(pid, 'SIGTERM'), true);
    assert.equal(exec.kill(pid, 0), false);
  });
});

test('mounts and cgroups are tables', async () => {
  const { mounter, cgroups } = createSimPlatform();
  await mounter.mount({ source: 'tmpfs', target: '/m', type: 'tmpfs', options: ['size=1m'] });
  assert.equal(await mounter.isMountPoint('/m'), true);
  mounter.failNext('/m', new Error('busy'));
  await assert.rejects(mounter.unmount('/m'), /busy/);
  await mounter.unmount('/m');
  await mounter.unmount('/m');
  assert.deepEqual(await mounter.list(), []);
  await cgroups.create('/kubepods/burstable/pod1', { cpuShares: 100 });
  await cgroups.update('/kubepods/burstable/pod1', { memoryMaxBytes: 5 });
  assert.deepEqual(cgroups.groups.get('/kubepods/burstable/pod1')?.resources, { cpuShares: 100, memoryMaxBytes: 5 });
  await cgroups.addProcess('/kubepods/burstable/pod1', 7);
  assert.deepEqual(await cgroups.pids('/kubepods'), [7]);
  assert.deepEqual(await cgroups.children('/kubepods'), ['burstable']);
  await cgroups.destroy('/kubepods/burstable');
  assert.deepEqual(await cgroups.children('/kubepods'), []);
  await assert.rejects(cgroups.update('/none', {}), { code: 'ENOENT' });
});

test('hosts beside each other make equal texts one together, others by themselves', () => {
  const one = createSimPlatform();
  const two = createSimPlatform({ beside: one, addresses: ['10.0.0.2'] });
  assert.equal(createSimPlatform({ beside: two, addresses: ['10.0.0.3'] }).texts, one.texts);
  assert.notEqual(createSimPlatform().texts, one.texts);
});

describe('network', () => {
  test('hosts reach each other by address and name, themselves by loopback', async () => {
    const one = createSimPlatform({ addresses: ['10.0.0.1'] });
    const two = createSimPlatform({ addresses: ['10.0.0.2'], beside: one });
    const server = await one.listenHttp({ host: '0.0.0.0', port: 6443 }, async (request) => {
      const body = Buffer.from(await request.readBody(100)).toString();
      const text = `${request.method} ${request.path}?${request.query} from ${request.remoteAddress} ${body}`;
      return { kind: 'bytes', status: 201, headers: { 'X-A': ['1', '2'] }, chunks: [Buffer.from(text)] };
    });
    one.network.names.set('api', '10.0.0.1');
    const ask = (net: typeof one.net, host: string): Promise<HttpAnswer> =>
      net.http({ method: 'POST', url: `https://${host}:6443/a%20b?c=d`, body: 'hi' });
    const answer = await ask(two.net, 'api');
    assert.deepEqual(
      [answer.status, answer.headers['x-a'], await readAll(answer.body)],
      [201, '1, 2', 'POST /a%20b?c=d from 10.0.0.2 hi'],
    );
    assert.equal(await readAll((await ask(one.net, '127.0.0.1')).body), 'POST /a%20b?c=d from 10.0.0.1 hi');
    await assert.rejects(ask(two.net, '127.0.0.1'), { code: 'ECONNREFUSED' });
    one.network.reachable = (from) => from !== '10.0.0.2';
    await assert.rejects(ask(two.net, 'api'), { code: 'EHOSTUNREACH' });
    one.network.reachable = () => true;
    await assert.rejects(
      one.listenHttp({ host: '127.0.0.1', port: 6443 }, () => assert.fail()),
      { code: 'EADDRINUSE' },
    );
    await server.close(0);
    await assert.rejects(ask(two.net, 'api'), { code: 'ECONNREFUSED' });
  });

  test('streams arrive as they are written; cancelling aborts the request', async () => {
    const { net, clock } = createSimPlatform();
    let aborted = false;
    await net.listenHttp({ host: '127.0.0.1', port: 80 }, (request) => ({
      kind: 'stream',
      status: 200,
      headers: {},
      async run(sink) {
        onAbort(request.signal, () => (aborted = true));
        for (let tick = 0; ; tick++) {
          await sink.write(`tick ${tick}`);
          await clock.sleep(1000, request.signal);
        }
      },
    }));
    const answer = await net.http({ method: 'GET', url: 'http://localhost/watch' });
    const seen: string[] = [];
    const reading = (async () => {
      for await (const chunk of answer.body) seen.push(Buffer.from(chunk).toString());
    })();
    await clock.advance(2500);
    assert.deepEqual(seen, ['tick 0', 'tick 1', 'tick 2']);
    answer.cancel();
    await assert.rejects(reading, { code: 'ECONNRESET' });
    assert.equal(aborted, true);
    await clock.runUntilIdle();
  });

  test('calls time out on virtual time and abort', async () => {
    const { net, clock } = createSimPlatform();
    let left = 0;
    await net.listenHttp({ host: '127.0.0.1', port: 80 }, (request) => {
      onAbort(request.signal, () => left++);
      return new Promise(() => undefined);
    });
    const slow = net.http({ method: 'GET', url: 'http://localhost/', timeoutMs: 3000 });
    await assert.rejects(clock.drive(slow), { code: 'ETIMEDOUT' });
    const controller = new AbortController();
    const call = net.http({ method: 'GET', url: 'http://localhost/', signal: controller.signal });
    controller.abort(new Error('left'));
    await assert.rejects(call, /left/);
    assert.equal(left, 2);
  });

  test('the time of a call covers the body, that of the head does not', async () => {
    const { net, clock } = createSimPlatform();
    await net.listenHttp({ host: '127.0.0.1', port: 80 }, async () => ({
      kind: 'stream',
      status: 200,
      headers: {},
      async run(sink) {
        await sink.write('a');
        await clock.sleep(60_000);
        await sink.end();
      },
    }));
    const get = async (limit: object): Promise<string> => {
      const answer = await net.http({ method: 'GET', url: 'http://localhost/', ...limit });
      return readAll(answer.body);
    };
    await assert.rejects(clock.drive(get({ timeoutMs: 3000 })), { code: 'ETIMEDOUT' });
    assert.equal(clock.monotonicMs(), 3000);
    assert.equal(await clock.drive(get({ headTimeoutMs: 3000 })), 'a');
    await clock.runUntilIdle();
  });

  test('upgrades and raw connections carry bytes with half-close', async () => {
    const { net } = createSimPlatform();
    net.listenUnix('/run/echo.sock', () => ({
      kind: 'upgrade',
      async accept(socket) {
        await socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n\r\nhello ');
        for await (const chunk of socket.incoming) await socket.write(chunk);
        await socket.end();
      },
    }));
    const upgraded = await net.upgrade({ method: 'GET', url: 'http://x/', unixPath: '/run/echo.sock' });
    assert.ok('socket' in upgraded);
    assert.equal(upgraded.headers['upgrade'], 'echo');
    await upgraded.socket.write('world');
    await upgraded.socket.end();
    assert.equal(await readAll(upgraded.socket.incoming), 'hello world');
    await upgraded.socket.closed;
    net.listenRaw(
      7,
      (socket) =>
        void (async () => {
          await socket.write((await readAll(socket.incoming)).toUpperCase());
          await socket.end();
        })(),
    );
    const raw = await net.dial({ host: '127.0.0.1', port: 7 });
    await raw.write('abc');
    await raw.end();
    assert.equal(await readAll(raw.incoming), 'ABC');
  });

  test('datagrams arrive or are lost', async () => {
    const one = createSimPlatform({ addresses: ['10.0.0.1'] });
    const two = createSimPlatform({ addresses: ['10.0.0.2'], beside: one });
    const seen: string[] = [];
    const server = await one.datagrams.openDatagrams({ address: '0.0.0.0', port: 53 }, (data, from) => {
      seen.push(`${Buffer.from(data).toString()} from ${from.address}`);
    });
    const client = await two.datagrams.openDatagrams({ address: '0.0.0.0', port: 0 }, () => undefined);
    client.send(Buffer.from('query'), { address: '10.0.0.1', port: 53 });
    client.send(Buffer.from('lost'), { address: '10.0.0.1', port: 54 });
    await one.clock.settle();
    assert.deepEqual(seen, ['query from 10.0.0.2']);
    await assert.rejects(
      one.datagrams.openDatagrams({ address: '10.0.0.1', port: 53 }, () => undefined),
      { code: 'EADDRINUSE' },
    );
    await server.close();
    client.send(Buffer.from('late'), { address: '10.0.0.1', port: 53 });
    await one.clock.settle();
    assert.equal(seen.length, 1);
  });
});
