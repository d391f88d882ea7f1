import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { StatusError } from '../api/status-error.ts';
import { Cluster } from '../testing/cluster.ts';
import { replayFileRoutes, type ReplayFiles, type ReplayFileState } from '../testing/simulation/replay-file-route.ts';
import { createReplayFiles } from './replay-files.ts';
import type { ReplayMessage, ReplayOrder } from './replay-worker.ts';

const PATH = '/keelson/v1/simulation/replay-file';

/** A thread in place of a scenario, whose messages the test sends. */
class FakeThread extends EventEmitter {
  readonly order: ReplayOrder;
  isEnded = false;
  received = 0;
  /** Outside of the heap. */
  bufferBytes = 0;

  constructor(order: ReplayOrder) {
    super();
    this.order = order;
  }

  postMessage(): void {
    this.received++;
  }

  async getHeapStatistics(): Promise<object> {
    if (this.isEnded) throw new Error('the worker has ended');
    return { used_heap_size: 100_000_000, external_memory: this.bufferBytes };
  }

  send(message: ReplayMessage): void {
    this.emit('message', message);
  }

  async terminate(): Promise<number> {
    this.isEnded = true;
    this.emit('exit', 1);
    return 1;
  }
}

function start(): { files: ReplayFiles; threads: FakeThread[]; clock: VirtualClock } {
  const threads: FakeThread[] = [];
  const clock = new VirtualClock();
  const files = createReplayFiles({
    clock,
    host: '127.0.0.1',
    startThread(order) {
      const thread = new FakeThread(order);
      threads.push(thread);
      return thread as unknown as Worker;
    },
  });
  return { files, threads, clock };
}

test('a file is opened through the API, and a second one ends the first', async () => {
  const { files, threads } = start();
  await using cluster = await Cluster.start({ nodes: 0, routes: replayFileRoutes(files) });
  const ask = async <T>(method: string, path = PATH, body?: string): Promise<T> => {
    const answer = await cluster.client.raw({ method, path, body: body === undefined ? undefined : Buffer.from(body) });
    return JSON.parse(Buffer.from(answer.body).toString()) as T;
  };
  const state = async (): Promise<string> => (await ask<ReplayFileState>('GET')).state;
  assert.equal(await state(), 'None');
  const refused = async (work: Promise<unknown>, code: number): Promise<void> => {
    await assert.rejects(work, (error) => error instanceof StatusError && error.status.code === code);
  };
  await refused(ask('POST', `${PATH}/link`), 409);
  await refused(ask('POST', PATH, ' \n'), 400);
  await ask('POST', PATH, 'name: first');
  assert.deepEqual(threads[0]?.order, { text: 'name: first', host: '127.0.0.1' });
  threads[0].send({ kind: 'read', name: 'first' });
  threads[0].send({ kind: 'open', failure: 'it broke' });
  const { kind: _kind, apiVersion: _version, ...shown } = await ask<Record<string, unknown>>('GET');
  assert.deepEqual(shown, { state: 'Open', name: 'first', failure: 'it broke' });
  const link = ask<{ port: number; path: string }>('POST', `${PATH}/link`);
  await cluster.eventually(() => assert.equal(threads[0]!.received, 1));
  threads[0].send({ kind: 'link', port: 4711, path: '/console/#code=x' });
  const { port, path } = await link;
  assert.deepEqual([port, path], [4711, '/console/#code=x']);
  await ask('POST', PATH, 'name: second');
  assert.equal(threads[0].isEnded, true);
  threads[0].send({ kind: 'open' });
  assert.equal(await state(), 'Running', 'a late message of the first changes nothing');
  await ask('DELETE');
  assert.deepEqual([await state(), threads[1]?.isEnded], ['None', true]);
});

test('an endless run and a thread that ends are refused with the reason', async () => {
  const { files, threads, clock } = start();
  await files.open('endless');
  await clock.advance(600_000);
  assert.deepEqual([files.current.state, files.current.message], ['Refused', 'the run did not end after 600 s']);
  assert.equal(threads[0]?.isEnded, true);
  await files.open('large');
  threads[1]!.emit('error', new Error('out of memory'));
  assert.equal(files.current.message, 'out of memory');
  await files.open('fine');
  threads[2]!.send({ kind: 'open' });
  const link = files.link();
  threads[2]!.emit('exit', 1);
  assert.equal(await link, undefined);
  assert.equal(files.current.message, 'its thread has ended');
  await clock.advance(3_600_000);
  assert.equal(files.current.message, 'its thread has ended', 'an open run has no limit');
});

test('a run that needs too much memory is ended, also once it is open', async () => {
  const { files, threads, clock } = start();
  for (const [at, isOpen] of [false, true].entries()) {
    await files.open('large');
    const thread = threads[at]!;
    thread.bufferBytes = 1_900_000_000;
    await clock.advance(5_000);
    if (isOpen) thread.send({ kind: 'open' });
    assert.equal(files.current.state, isOpen ? 'Open' : 'Running');
    thread.bufferBytes = 2_200_000_000;
    await clock.advance(1_000);
    assert.deepEqual([files.current.state, files.current.message], ['Refused', 'the run needs more than 2048 MiB']);
    assert.equal(thread.isEnded, true);
  }
});
