import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Log } from '../log.ts';
import { createNodeClock } from './clock.ts';
import { createNodeCrypto } from './crypto.ts';
import { createMemoryLog } from '../sim/log.ts';
import { createNodeDatagrams } from './datagrams.ts';
import { createNodeFiles } from './files.ts';
import { createNodeHost, parseOsRelease } from './host.ts';
import { parseMeminfo } from './host-memory.ts';
import { createNodeLog, type NodeLogOptions } from './log.ts';
import { createNodeMetrics } from './metrics.ts';
import { createNodeNet } from './net.ts';
import { createNodeRandom } from './random.ts';

let folder: string;
before(() => (folder = mkdtempSync(join(tmpdir(), 'keelson-platform-'))));
after(() => rmSync(folder, { recursive: true }));

describe('clock', () => {
  const clock = createNodeClock();
  // The clock's timers keep no process alive.
  const keepAlive = setInterval(() => undefined, 1000);
  after(() => clearInterval(keepAlive));

  test('wall and monotonic time', () => {
    // The same between two readings, whatever the delay between them, unless the clock was set meanwhile.
    const offset = (): number => Date.now() - performance.now();
    for (;;) {
      const offsetBefore = offset();
      const [before, now, after] = [Date.now(), clock.nowMs(), Date.now()];
      if (Math.abs(offset() - offsetBefore) > 2) continue;
      assert.ok(now >= before - 1 && now <= after + 1, `${before} ${now} ${after}`);
      break;
    }
    const first = clock.monotonicMs();
    assert.ok(clock.monotonicMs() >= first);
  });

  test('sleeps, aborts, and does not fire timers of 30 days at once', async () => {
    let fired = false;
    const cancel = clock.setTimer(30 * 24 * 3_600_000, () => (fired = true));
    await clock.sleep(5);
    await clock.yield();
    cancel();
    assert.equal(fired, false);
    await assert.rejects(clock.sleep(1000, AbortSignal.abort(new Error('no'))), /no/);
    const controller = new AbortController();
    const sleeping = clock.sleep(60_000, controller.signal);
    controller.abort(new Error('enough'));
    await assert.rejects(sleeping, /enough/);
  });

  test('tickers beat until stopped', async () => {
    await new Promise<void>((resolve) => {
      let beats = 0;
      const stop = clock.setTicker(1, () => {
        if (++beats < 3) return;
        stop();
        resolve();
      });
    });
    clock.onWallJump(() => undefined)();
  });
});

test('random values and hashes', () => {
  const random = createNodeRandom();
  assert.notEqual(random.uuid(), random.uuid());
  assert.equal(random.bytes(5000).byteLength, 5000);
  const draws = Array.from({ length: 5000 }, () => random.int(10));
  assert.equal(new Set(draws).size, 10);
  assert.ok(draws.every((draw) => draw >= 0 && draw < 10));
  assert.match(random.fork('x').nameSuffix(5), /^[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  const crypto = createNodeCrypto();
  assert.equal(crypto.sha256Hex('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  assert.equal(crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('ab')), false);
  assert.equal(crypto.timingSafeEqual(Buffer.from('ab'), Buffer.from('ab')), true);
});

describe('log', () => {
  const logged = (options: NodeLogOptions, use: (log: Log) => void): string => {
    const path = join(folder, 'log.txt');
    const fd = openSync(path, 'w');
    use(createNodeLog({ ...options, fd }));
    closeSync(fd);
    return readFileSync(path, 'utf8');
  };

  test('JSON lines with component, fields and error causes', () => {
    const text = logged({}, (log) => {
      log.debug('hidden');
      const err = new Error('outer', { cause: Object.assign(new Error('inner'), { code: 'ENOENT' }) });
      log.child('kubelet', { node: 'n1' }).child('pleg').error('relist', { err, n: 1 });
    });
    const line = JSON.parse(text);
    assert.deepEqual(
      [line.level, line.component, line.node, line.msg, line.n],
      ['error', 'kubelet.pleg', 'n1', 'relist', 1],
    );
    assert.deepEqual([line.err.message, line.err.cause.message, line.err.cause.code], ['outer', 'inner', 'ENOENT']);
    assert.equal(text.match(/"component"/g)?.length, 1);
  });

  test('stacks are of unexpected errors and of program errors, in no other line', () => {
    const [refused, broken, unexpected] = logged({}, (log) => {
      log.warn('call failed', { err: new Error('refused', { cause: new Error('reset') }) });
      log.error('sync failed', { err: new Error('outer', { cause: new TypeError('broken') }) });
      log.unexpected('handler failed', new Error('nobody foresaw it'));
    })
      .split('\n')
      .slice(0, 3)
      .map((line) => JSON.parse(line));
    assert.deepEqual(refused.err, { type: 'Error', message: 'refused', cause: { type: 'Error', message: 'reset' } });
    assert.deepEqual(['stack' in broken.err, 'stack' in broken.err.cause], [false, true]);
    assert.match(unexpected.err.stack, /nobody foresaw it\n {4}at /);
  });

  test('the text format writes one readable line with fields, stack and cause', () => {
    const text = logged({ format: 'text', level: 'debug' }, (log) => {
      log.child('proxy').warn('sync failed', { table: 'a b', err: new Error('outer', { cause: new Error('inner') }) });
    });
    assert.match(
      text,
      /^\d\d:\d\d:\d\d\.\d{3} WARN {2}proxy: sync failed table="a b" Error: outer\n {2}caused by Error: inner\n$/,
    );
  });
});

test('metrics in the text format', async () => {
  const metrics = createNodeMetrics();
  const spec = { name: 'requests_total', help: 'Requests.', labels: ['code'] };
  metrics.counter(spec).inc({ code: '200' });
  metrics.counter(spec).inc({ code: '200' }, 2);
  metrics.gauge({ name: 'depth', help: 'Depth.' }).set(4);
  metrics.histogram({ name: 'took_seconds', help: 'Took.', buckets: [1, 2] }).observe(1.5);
  const text = await metrics.expose();
  for (const line of [
    'requests_total{code="200"} 3',
    'depth 4',
    'took_seconds_bucket{le="2"} 1',
    'process_resident_memory_bytes',
  ]) {
    assert.ok(text.includes(line), line);
  }
  assert.throws(() => metrics.gauge(spec), /another type/);
});

describe('files', () => {
  const files = createNodeFiles();
  const path = (name: string): string => join(folder, name);

  test('writes whole files, keeps modes, leaves nothing beside', async () => {
    await files.makeDir(path('a/b'), { mode: 0o700 });
    await files.writeFileAtomic(path('a/b/f'), 'one', { mode: 0o600 });
    await files.writeFileAtomic(path('a/b/f'), 'two', { mode: 0o600 });
    assert.equal(await files.readText(path('a/b/f')), 'two');
    assert.deepEqual(await files.readDir(path('a/b')), ['f']);
    const stat = await files.stat(path('a/b/f'));
    assert.deepEqual([stat.kind, stat.mode, stat.sizeBytes], ['file', 0o600, 3]);
    assert.equal((await files.stat(path('a/b'))).mode, 0o700);
    await assert.rejects(files.writeFileAtomic(path('none/f'), 'x'), { code: 'ENOENT' });
    await assert.rejects(files.removeDir(path('a')), { code: 'ENOTEMPTY' });
    await files.remove(path('a'));
    await files.remove(path('a'));
    assert.equal(await files.exists(path('a')), false);
  });

  test('appends and reads pieces', async () => {
    const handle = await files.open(path('log'), 'a');
    await handle.append('hello ');
    await handle.append(Buffer.from('world'));
    assert.equal(Buffer.from(await handle.read(6, 100)).toString(), 'world');
    assert.equal((await handle.read(100, 10)).byteLength, 0);
    assert.equal((await handle.stat()).sizeBytes, 11);
    await handle.sync();
    await handle.close();
    await files.symlink('log', path('link'));
    assert.equal(await files.readLink(path('link')), 'log');
    assert.deepEqual(
      [(await files.lstat(path('link'))).kind, (await files.stat(path('link'))).kind],
      ['symlink', 'file'],
    );
    assert.ok((await files.statFileSystem(folder)).totalBytes > 0);
  });

  test('watches a file across its replacement; reports when it cannot', async () => {
    await files.writeFile(path('watched'), 'a');
    const keepAlive = setInterval(() => undefined, 1000);
    let changes = 0;
    let wake: (() => void) | undefined;
    const watch = files.watch(
      path('watched'),
      () => {
        changes++;
        wake?.();
      },
      assert.fail,
    );
    for (let round = 0; round < 2; round++) {
      const seen = changes;
      const changed = new Promise<void>((resolve) => (wake = resolve));
      while (changes === seen) {
        await files.writeFileAtomic(path('watched'), `round ${round}`);
        await Promise.race([changed, new Promise((resolve) => setTimeout(resolve, 50))]);
      }
    }
    watch.stop();
    const error = await new Promise<NodeJS.ErrnoException>((resolve) =>
      files.watch(path('none'), () => undefined, resolve),
    );
    assert.equal(error.code, 'ENOENT');
    clearInterval(keepAlive);
  });
});

test('the host reports processors, memory, processes and its distribution', async () => {
  const host = createNodeHost({ files: createNodeFiles() });
  const info = await host.info();
  assert.ok(info.cpuCount >= 1 && info.memoryBytes > 2 ** 28 && info.hostname !== '' && info.pidMax > 1000);
  assert.match(info.architecture, /^(amd64|arm64|.+)$/);
  const memory = await host.memory();
  assert.ok(memory.workingSetBytes <= memory.usageBytes && memory.availableBytes > 0);
  assert.ok((await host.processCount()) > 0);
  assert.equal(
    parseOsRelease('NAME=x\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n'),
    'Debian GNU/Linux 12 (bookworm)',
  );
  assert.equal(parseOsRelease(''), 'Linux');
  assert.equal(parseMeminfo('MemTotal:       24 kB\nHugePages_Total:       3\n').get('MemTotal'), 24_576);
});

test('datagrams and plain streams', async () => {
  const datagrams = createNodeDatagrams(createMemoryLog());
  const loopback = { address: '127.0.0.1', port: 0 };
  const received = Promise.withResolvers<string>();
  const client = await datagrams.openDatagrams(loopback, (data) => received.resolve(Buffer.from(data).toString()));
  const server = await datagrams.openDatagrams(loopback, (data, from) => server.send(data, from));
  client.send(Buffer.from('echo'), server.local);
  assert.equal(await received.promise, 'echo');
  await assert.rejects(
    datagrams.openDatagrams(server.local, () => undefined),
    { code: 'EADDRINUSE' },
  );
  await Promise.all([client.close(), server.close()]);
  const listener = await datagrams.listenStreams(loopback, (connection) => {
    void (async () => {
      for await (const chunk of connection.incoming) await connection.write(chunk);
      await connection.end();
    })();
  });
  await assert.rejects(
    datagrams.listenStreams(listener.local, () => undefined),
    { code: 'EADDRINUSE' },
  );
  const dialled = await createNodeNet().dial({ host: '127.0.0.1', port: listener.local.port });
  await dialled.write('over TCP');
  await dialled.end();
  const chunks: Uint8Array[] = [];
  for await (const chunk of dialled.incoming) chunks.push(chunk);
  assert.equal(Buffer.concat(chunks).toString(), 'over TCP');
  await listener.close();
});
