/** Mirrored requests: their memory, their end, and the effect of their failures on an endpoint. */
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import {
  NotSentError,
  type BackendAnswer,
  type BackendCall,
  type BackendRequest,
  type BodyTarget,
} from './backends/backend-call.ts';
import { turn } from './data-plane-fixture.ts';
import { Mirrors, type Mirror } from './mirror.ts';

const ENDPOINT = { address: '192.0.2.1', port: 80 };
const CHUNK = Buffer.alloc(64 * 1024);

/** A backend whose connection and response the test controls. */
class FakeBackend {
  readonly failed: unknown[] = [];
  readonly written: Buffer[] = [];
  isCancelled = false;
  hasEnd = false;
  takesAll = true;
  #request: BackendRequest | undefined;
  #drain: () => void = () => undefined;
  readonly #answer = Promise.withResolvers<BackendAnswer>();

  start({ hasBody }: { readonly hasBody: boolean }): Mirror {
    const backends = {
      order: () => [ENDPOINT],
      failed: (endpoint: unknown) => this.failed.push(endpoint),
      call: (_endpoint: unknown, request: BackendRequest): BackendCall => {
        this.#request = request;
        return { answer: this.#answer.promise, cancel: () => (this.isCancelled = true) };
      },
    };
    const request = { method: 'PUT', target: '/', authority: 'a', headers: [], hasBody, takesTrailers: false };
    const mirrors = new Mirrors(new VirtualClock(), backends);
    return mirrors.start({ protocol: 'http', endpoints: [ENDPOINT] }, { ...request, clientAddress: '' })!;
  }

  connect(): void {
    const target: BodyTarget = {
      write: (chunk) => {
        this.written.push(chunk);
        return this.takesAll;
      },
      onDrain: (callback) => (this.#drain = callback),
      end: () => (this.hasEnd = true),
    };
    this.#request!.sendBody(target);
  }

  drain(): void {
    this.#drain();
  }

  async fail(error: Error): Promise<void> {
    this.#answer.reject(error);
    await turn();
  }

  async answer(): Promise<void> {
    const body = new PassThrough();
    body.end();
    const head = { status: 200, headers: [], hasBody: true, trailers: () => [], errorCode: () => undefined };
    this.#answer.resolve({ ...head, body });
    for (let turns = 0; turns < 5; turns++) await turn();
    assert.ok(body.closed);
  }
}

test('an upload beyond 256 KiB to an unreachable mirror leaves nothing in memory', () => {
  const backend = new FakeBackend();
  const mirror = backend.start({ hasBody: true });
  for (let sent = 0; sent < 4; sent++) mirror.write(CHUNK);
  assert.equal(backend.isCancelled, false);
  for (let sent = 0; sent < 100; sent++) mirror.write(CHUNK);
  assert.equal(backend.isCancelled, true);
  mirror.end();
  // Kept bytes would be sent now.
  backend.connect();
  assert.deepEqual([backend.written.length, backend.hasEnd], [0, false]);
});

test('a mirror that stops reading the upload is aborted and receives no more of it', () => {
  const backend = new FakeBackend();
  backend.takesAll = false;
  const mirror = backend.start({ hasBody: true });
  backend.connect();
  for (let sent = 0; sent < 100; sent++) mirror.write(CHUNK);
  mirror.end();
  backend.drain();
  assert.deepEqual([backend.written.length, backend.isCancelled, backend.hasEnd], [1, true, false]);
});

test('a mirror that has failed or responded receives no more of the upload', async () => {
  for (const finish of ['fail', 'answer'] as const) {
    const backend = new FakeBackend();
    const mirror = backend.start({ hasBody: true });
    backend.connect();
    mirror.write(CHUNK);
    await (finish === 'fail' ? backend.fail(new Error('reset')) : backend.answer());
    mirror.write(CHUNK);
    mirror.end();
    // Without the end of its body the request would hold its connection.
    assert.deepEqual([backend.written.length, backend.hasEnd, backend.isCancelled], [1, false, true], finish);
  }
});

test('a mirror that has received the whole request may respond later', async () => {
  const backend = new FakeBackend();
  const mirror = backend.start({ hasBody: true });
  backend.connect();
  mirror.write(CHUNK);
  mirror.end();
  mirror.cut();
  await backend.answer();
  assert.deepEqual([backend.hasEnd, backend.isCancelled], [true, false]);
});

test('a copy ends when its request is cut; a copy without a body is complete at once', async () => {
  for (const hasBody of [true, false]) {
    const backend = new FakeBackend();
    backend.start({ hasBody }).cut();
    assert.equal(backend.isCancelled, hasBody);
    await backend.fail(new NotSentError(new Error('cancelled')));
    assert.deepEqual(backend.failed, hasBody ? [] : [ENDPOINT]);
  }
});

test('an endpoint is avoided after a failed connection, not after one that broke or was aborted', async () => {
  for (const [error, expected] of [
    [new NotSentError(new Error('refused')), [ENDPOINT]],
    [new Error('reset'), []],
  ] as const) {
    const backend = new FakeBackend();
    backend.start({ hasBody: false });
    await backend.fail(error);
    assert.deepEqual(backend.failed, expected);
  }
});
