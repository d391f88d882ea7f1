import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { shareChunks } from './share-chunks.ts';

async function* numbers(count: number, read: number[] = []): AsyncGenerator<number> {
  for (let at = 0; at < count; at++) {
    read.push(at);
    yield at;
  }
}

async function all(chunks: AsyncIterable<number>): Promise<number[]> {
  const found: number[] = [];
  for await (const chunk of chunks) found.push(chunk);
  return found;
}

describe('a stream that several read', () => {
  it('gives each reader every chunk', async () => {
    const shared = shareChunks(numbers(3), 3);
    assert.deepEqual(await Promise.all(shared.map(all)), [
      [0, 1, 2],
      [0, 1, 2],
      [0, 1, 2],
    ]);
  });

  it('reads no further than the slowest reader', async () => {
    const read: number[] = [];
    const [fast, slow] = shareChunks(numbers(9, read), 2).map((chunks) => chunks[Symbol.asyncIterator]());
    const second = fast!.next().then(() => fast!.next());
    await slow!.next();
    assert.deepEqual(read, [0]);
    await slow!.next();
    assert.equal((await second).value, 1);
    assert.deepEqual(read, [0, 1]);
  });

  it('continues without a reader that stops or fails', async () => {
    const [first, second] = shareChunks(numbers(4), 2);
    const failing = (async () => {
      for await (const chunk of first!) if (chunk === 1) throw new Error('refused');
    })();
    const [failed, whole] = await Promise.allSettled([failing, all(second!)]);
    assert.equal(failed.status, 'rejected');
    assert.deepEqual(whole, { status: 'fulfilled', value: [0, 1, 2, 3] });
  });

  it('fails for all where the source fails', async () => {
    const broken = (async function* () {
      yield 1;
      throw new Error('cut short');
    })();
    const outcomes = await Promise.allSettled(shareChunks(broken, 2).map(all));
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['rejected', 'rejected'],
    );
  });
});
