import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDuplexPair } from '../../platform/sim/streams.ts';
import type { Duplex } from '../../platform/streams.ts';
import { joinStreams } from './join-streams.ts';

/** The outer ends of two joined connections. */
function simulated(): { readonly client: Duplex; readonly backend: Duplex } {
  const [client, near] = createDuplexPair();
  const [far, backend] = createDuplexPair();
  joinStreams(near, far);
  return { client, backend };
}

test('ends are forwarded, each direction on its own: a client that has ended its side receives the rest', async () => {
  const { client, backend } = simulated();
  await client.write('question');
  await client.end();
  let question = '';
  for await (const chunk of backend.incoming) question += Buffer.from(chunk).toString();
  await backend.write(`${question}: answer`);
  await backend.end();
  let answer = '';
  for await (const chunk of client.incoming) answer += Buffer.from(chunk).toString();
  assert.equal(answer, 'question: answer');
  await Promise.all([client.closed, backend.closed]);
});

test('an abort of one side aborts the other, also while its data waits for a reader', async () => {
  for (const breaks of ['client', 'backend'] as const) {
    const ends = simulated();
    const other = breaks === 'client' ? ends.backend : ends.client;
    // More than the buffers hold, and without a reader.
    for (let at = 0; at < 100; at++) ends[breaks].write('unread').catch(() => undefined);
    ends[breaks].destroy();
    await other.closed;
  }
});
