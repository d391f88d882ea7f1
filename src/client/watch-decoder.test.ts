import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeWatchLines } from './watch-decoder.ts';

/** Decodes a body in chunks of this size; also counts the turns of other work meanwhile. */
async function decoded(
  text: string,
  chunkBytes: number,
): Promise<{ events: unknown[]; batches: number; turns: number }> {
  const bytes = Buffer.from(text);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
  }
  const found = { events: [] as unknown[], batches: 0, turns: 0 };
  const clock = {
    yield: async () => {
      found.turns++;
    },
  };
  for await (const batch of decodeWatchLines(chunks(), clock)) {
    found.events.push(...batch);
    found.batches++;
  }
  return found;
}

const eventOf = (object: unknown): string => JSON.stringify({ type: 'ADDED', object });
const withItems = (count: number): object => ({
  list: Array.from({ length: count }, (_, i) => `é€😀 ${i}`),
  text: 'x'.repeat(40_000),
});

for (const chunkBytes of [1, 1000, 10_000_000])
  test(`events are decoded from chunks of ${chunkBytes} bytes`, async () => {
    const objects = ['a', withItems(2000), { b: 'é' }, 1];
    const { events, batches } = await decoded(`${objects.map(eventOf).join('\n\n')}`, chunkBytes);
    assert.deepEqual(
      events,
      objects.map((object) => ({ type: 'ADDED', object })),
    );
    assert.ok(chunkBytes < 10_000_000 || batches === 2, String(batches));
  });

test('a long event is parsed in turns, and so are many short ones that arrive together', async () => {
  assert.ok((await decoded(`${eventOf(withItems(20_000))}\n`, 10_000_000)).turns > 10);
  const short = `${eventOf('x'.repeat(1000))}\n`;
  assert.ok((await decoded(short.repeat(1000), 10_000_000)).turns > 10);
  assert.equal((await decoded(short, 10_000_000)).turns, 0);
});

test('events with too many parts, too long ones and broken ones are refused', async () => {
  await assert.rejects(decoded(`{"object":[${'[],'.repeat(300_000)}[]]}\n`, 65_536), /more than 250000 fields/);
  await assert.rejects(decoded('x'.repeat(9 * 1024 * 1024), 65_536), /exceeds 8388608 bytes/);
  await assert.rejects(decoded('{"type":\n', 65_536), SyntaxError);
  await assert.rejects(decoded(`["${'x'.repeat(100_000)}\n`, 65_536), /unexpected end of JSON/);
});
