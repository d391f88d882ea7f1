import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Channel, ChannelClosedError } from './channel.ts';

test('values are received in order, before and after close', async () => {
  const channel = new Channel<number>();
  for (let value = 0; value < 200; value++) await channel.send(value);
  channel.close();
  const seen: number[] = [];
  for await (const value of channel) seen.push(value);
  assert.deepEqual(
    seen,
    Array.from({ length: 200 }, (_, index) => index),
  );
  await assert.rejects(channel.send(1), ChannelClosedError);
});

test('a waiting receiver gets the value; close ends it', async () => {
  const channel = new Channel<string>();
  const first = channel.receive();
  const second = channel.receive();
  assert.equal(channel.trySend('a'), true);
  channel.close();
  assert.deepEqual(await first, { done: false, value: 'a' });
  assert.deepEqual(await second, { done: true, value: undefined });
});

for (const capacity of [0, 1]) {
  test(`a channel of capacity ${capacity} makes senders wait`, async () => {
    const channel = new Channel<number>(capacity);
    const sent: number[] = [];
    const sends = [1, 2, 3].map((value) => channel.send(value).then(() => sent.push(value)));
    await Promise.resolve();
    await Promise.resolve();
    assert.deepEqual(sent, capacity === 0 ? [] : [1]);
    assert.deepEqual(
      [await channel.receive(), await channel.receive(), await channel.receive()].map((r) => r.value),
      [1, 2, 3],
    );
    await Promise.all(sends);
    assert.deepEqual(sent, [1, 2, 3]);
  });
}

test('close refuses senders that wait', async () => {
  const channel = new Channel<number>(0);
  const send = channel.send(1);
  channel.close();
  await assert.rejects(send, ChannelClosedError);
});

test('drain returns all values at once', () => {
  const channel = new Channel<number>();
  channel.trySend(1);
  channel.trySend(2);
  assert.deepEqual(channel.drain(), [1, 2]);
  assert.equal(channel.size, 0);
});
