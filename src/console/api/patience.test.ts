import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from './http.ts';
import { untilAnswered } from './patience.ts';

const failing = (...codes: readonly number[]) => {
  let asked = 0;
  const read = async (): Promise<string> => {
    const code = codes[asked++];
    if (code !== undefined) throw new ApiError({ code, message: 'no' });
    return 'answer';
  };
  return { read, asked: () => asked };
};

test('requests that did not reach the server are repeated, refused ones are not', async ({ mock }) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const { signal } = new AbortController();
  const settle = async (work: Promise<unknown>): Promise<unknown> => {
    let isDone = false;
    void work.finally(() => (isDone = true));
    for (let step = 0; step < 20 && !isDone; step++) {
      await new Promise(setImmediate);
      mock.timers.tick(10_000);
    }
    return work;
  };
  const broken = failing(0, 503, 429);
  assert.equal(await settle(untilAnswered(broken.read, signal)), 'answer');
  assert.equal(broken.asked(), 4);
  const refused = failing(403);
  assert.equal(await settle(untilAnswered(refused.read, signal)), undefined);
  assert.equal(refused.asked(), 1);
});

test('repeating ends with the signal', async () => {
  const ended = new AbortController();
  const { read, asked } = failing(0, 0, 0, 0);
  const answer = untilAnswered(read, ended.signal);
  ended.abort();
  assert.equal(await answer, undefined);
  assert.equal(asked(), 1);
});
