import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../platform/clock.ts';
import type { Duplex } from '../platform/streams.ts';
import { frame, serveStream } from './stream-connection.ts';

/** A client that sends these bytes at once; returns how its connection ended, and the turns of other work. */
async function send(bytes: Buffer): Promise<{ answered: number; turns: number; destroyed: boolean }> {
  const seen = { answered: 0, turns: 0, destroyed: false };
  const connection: Duplex = {
    incoming: (async function* () {
      for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
    })(),
    write: async () => void seen.answered++,
    end: async () => undefined,
    destroy: () => (seen.destroyed = true),
  } as Partial<Duplex> as Duplex;
  const clock = {
    setTimer: () => () => undefined,
    turn: () => undefined,
    yield: async () => void seen.turns++,
  } as Partial<Clock> as Clock;
  await serveStream({ clock, connection, client: '10.42.0.7', answer: (message) => message });
  return seen;
}

test('thousands of queries sent at once leave others their turn', async () => {
  const query = frame(Buffer.alloc(40, 1));
  const { answered, turns, destroyed } = await send(Buffer.concat(Array.from({ length: 20_000 }, () => query)));
  assert.equal(answered, 20_000);
  assert.ok(turns >= 40, `${turns} turns`);
  assert.equal(destroyed, false);
});

for (const length of [0, 11, 4097])
  test(`a message of ${length} bytes ends the connection`, async () => {
    const bytes = Buffer.alloc(1_000_000);
    bytes.writeUInt16BE(length, 0);
    assert.deepEqual(await send(bytes), { answered: 0, turns: 0, destroyed: true });
  });
