import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { ApiError, sendJson } from './http.ts';

const { fetch: own } = globalThis;
afterEach(() => void (globalThis.fetch = own));

/** A server with these responses, one per request; undefined: the browser drops the request. */
function answering(...answers: readonly (Response | undefined)[]): { readonly asked: () => number } {
  let asked = 0;
  globalThis.fetch = () => {
    const answer = answers[asked++];
    return answer === undefined ? Promise.reject(new TypeError('Failed to fetch')) : Promise.resolve(answer);
  };
  return { asked: () => asked };
}

const lost = (message: RegExp) => (error: unknown) =>
  error instanceof ApiError && error.code === 0 && message.test(error.message);

/** A response whose content breaks off. */
function brokenOff(): Response {
  return new Response(
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"a":'));
        controller.error(new TypeError('network error'));
      },
    }),
  );
}

test('a read that the browser drops is repeated once; a write is not', async () => {
  answering(undefined, Response.json({ a: 1 }));
  assert.deepEqual(await sendJson('/x'), { a: 1 });
  const { asked } = answering(undefined, undefined, Response.json({}));
  await assert.rejects(sendJson('/x'), lost(/does not answer/));
  assert.equal(asked(), 2);
  const writes = answering(undefined, Response.json({}));
  await assert.rejects(sendJson('/x', { method: 'PATCH' }), lost(/does not answer/));
  assert.equal(writes.asked(), 1);
});

test('a response that breaks off is the same error as one that does not arrive', async () => {
  answering(brokenOff());
  await assert.rejects(sendJson('/x'), lost(/broke off/));
});
