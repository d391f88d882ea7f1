import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AnswerTooLongError, answerText } from './answer-text.ts';
import type { HttpAnswer } from './net.ts';

/** A response whose body arrives in chunks of this size. */
function answerOf(body: Uint8Array, chunkBytes: number, cancel = (): void => undefined): HttpAnswer {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < body.length; at += chunkBytes) yield body.subarray(at, at + chunkBytes);
  }
  return { status: 200, headers: {}, body: chunks(), cancel };
}

for (const chunkBytes of [1, 1023, 40_000, 65_536, 65_537, 1_000_000])
  test(`a body in chunks of ${chunkBytes} bytes is the text it would be in one`, async () => {
    const text = `\ufeff${'aé€😀'.repeat(20_000)}`;
    const broken = Buffer.concat([Buffer.from(text), Buffer.from([0xe2, 0x82])]);
    assert.equal(await answerText(answerOf(broken, chunkBytes), broken.length), `${text}\ufffd`);
  });

test('small chunks are decoded together', async (context) => {
  const { mock } = context.mock.method(TextDecoder.prototype, 'decode');
  const body = Buffer.alloc(300_000, 'x');
  assert.equal((await answerText(answerOf(body, 1), body.length)).length, body.length);
  assert.ok(mock.callCount() < 10, String(mock.callCount()));
});

test('a body that is too long is refused, and its connection dropped', async () => {
  let isCancelled = false;
  const answer = answerOf(Buffer.alloc(100), 10, () => (isCancelled = true));
  await assert.rejects(answerText(answer, 99), AnswerTooLongError);
  assert.ok(isCancelled);
});
