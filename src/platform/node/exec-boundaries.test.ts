/** An invalid message or a failure of a spawner ends only its call; the other programs, and later ones, run. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createMemoryLog, type MemoryLog } from '../sim/log.ts';
import { createSimPlatform } from '../sim/sim-platform.ts';
import { createNodeExec, type NodeExec } from './exec.ts';
import { SPAWNER_FAULT, type SpawnerRequest } from './spawner-protocol.ts';

/** A spawner whose messages the test sends. */
class FakeSpawner extends EventEmitter {
  readonly requests: SpawnerRequest[] = [];
  readonly channel = { ref: () => undefined, unref: () => undefined };
  sendError: Error | undefined;
  unref(): void {}
  disconnect(): void {}
  send(request: SpawnerRequest): boolean {
    if (this.sendError !== undefined) throw this.sendError;
    this.requests.push(request);
    return true;
  }
  /** Sends a valid answer to a request. */
  end(at: number): void {
    const { id } = this.requests[at]!;
    this.emit('message', { kind: 'ended', id, exitCode: 0, stdout: '', stderr: '', timedOut: false });
  }
}

function fixture(): { exec: NodeExec; spawners: FakeSpawner[]; log: MemoryLog; counted: () => unknown } {
  const { log, metrics } = createSimPlatform();
  const spawners: FakeSpawner[] = [];
  const exec = createNodeExec(log.child('exec'), () => {
    const spawner = new FakeSpawner();
    spawners.push(spawner);
    return spawner as unknown as ChildProcess;
  });
  return {
    exec,
    spawners,
    log,
    counted: () => metrics.value('keelson_unexpected_errors_total', { component: 'exec' }),
  };
}

const unreadable = Object.defineProperty({}, 'id', {
  get() {
    throw new TypeError('broken');
  },
});

for (const [what, message] of Object.entries({ null: null, 'an unreadable object': unreadable }))
  test(`a message that is ${what} ends nothing, and is counted`, async () => {
    const { exec, spawners, counted } = fixture();
    const call = exec.run('a', []);
    spawners[0]!.emit('message', message);
    spawners[0]!.end(0);
    assert.equal((await call).exitCode, 0);
    assert.equal(counted(), 1);
  });

test('answers without a call, and of another kind, end at most their own call', async () => {
  const { exec, spawners } = fixture();
  const calls = [exec.run('a', []), exec.run('b', [])];
  spawners[0]!.emit('message', { kind: 'ended', id: 99 });
  spawners[0]!.emit('message', { kind: 'started', id: 1, pid: 5 });
  spawners[0]!.end(1);
  await assert.rejects(calls[0]!, /spawner answered started/);
  assert.equal((await calls[1]!).exitCode, 0);
});

test('a fault of the spawner ends the call, with its words, and is counted; an error of the system is not', async () => {
  const { exec, spawners, counted } = fixture();
  const fail = (code: string): Promise<unknown> => {
    const call = exec.run('a', []);
    const { id } = spawners[0]!.requests.at(-1)!;
    spawners[0]!.emit('message', { kind: 'failed', id, code, message: 'broken' });
    return call;
  };
  await assert.rejects(fail('ENOENT'), { code: 'ENOENT', message: 'broken' });
  assert.equal(counted(), undefined);
  await assert.rejects(fail(SPAWNER_FAULT), { message: 'broken' });
  assert.equal(counted(), 1);
});

test('a message that cannot be sent ends its call; a spawner that ends takes its calls along, and another one is started', async () => {
  const { exec, spawners } = fixture();
  const waiting = exec.run('a', []);
  spawners[0]!.sendError = new TypeError('could not be cloned');
  await assert.rejects(exec.run('b', []), /could not be cloned/);
  spawners[0]!.emit('error', new Error('killed'));
  await assert.rejects(waiting, /killed/);
  spawners[0]!.emit('disconnect');
  const next = exec.run('c', []);
  spawners[1]!.end(0);
  assert.equal((await next).exitCode, 0);
});

test('a spawner that cannot be started fails the call, and the next call tries again', async () => {
  let tries = 0;
  const exec = createNodeExec(createMemoryLog(), () => {
    tries++;
    throw Object.assign(new Error('spawn EAGAIN'), { code: 'EAGAIN' });
  });
  for (const expected of [1, 2]) {
    await assert.rejects(exec.run('a', []), { code: 'EAGAIN' });
    assert.equal(tries, expected);
  }
});

/** The real spawner with so many descriptors. */
function limitedExec(t: TestContext, descriptors: number): NodeExec {
  const entry = new URL('./spawner.ts', import.meta.url).pathname;
  const script = `ulimit -n ${descriptors}; exec "$0" --conditions=keelson-source "$1"`;
  const exec = createNodeExec(createMemoryLog(), () =>
    spawn('/bin/sh', ['-c', script, process.execPath, entry], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      serialization: 'advanced',
    }),
  );
  t.after(() => exec.close());
  return exec;
}

test('programs for which the spawner has no descriptors fail alone: those that run end rightly, and so does the next', async (t) => {
  const exec = limitedExec(t, 60);
  const gate = exec.run('/bin/sh', ['-c', 'exec sleep 300']);
  gate.catch(() => undefined);
  const folder = mkdtempSync(join(tmpdir(), 'exec-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const go = join(folder, 'go');
  // None ends before the limit is met, however slowly they start.
  const script = `read -r line; while ! [ -e '${go}' ]; do sleep 0.1; done; exit 7`;
  const programs = Array.from({ length: 40 }, () =>
    exec.run('/bin/sh', ['-c', script], { timeoutMs: 100_000, input: 'x'.repeat(200_000) }),
  );
  await Promise.all(programs).catch(() => writeFileSync(go, ''));
  const results = await Promise.allSettled(programs);
  const codes = results.map((result) =>
    result.status === 'fulfilled' ? result.value.exitCode : (result.reason as NodeJS.ErrnoException).code,
  );
  assert.deepEqual(
    [...new Set(codes)].filter((code) => ![7, 'EMFILE', 'EAGAIN'].includes(code as never)),
    [],
  );
  assert.ok(codes.includes('EMFILE'), 'the limit was met');
  assert.equal((await exec.run('/bin/sh', ['-c', 'exit 4'])).exitCode, 4);
});
