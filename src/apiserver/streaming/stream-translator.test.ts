/** WebSocket and SPDY framing, and the translation between them, over in-memory connections. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maskedFrame } from '../../base/frames-fixture.ts';
import { acceptHead } from '../../base/websocket-frames.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createDuplexPair } from '../../platform/sim/streams.ts';
import type { Duplex } from '../../platform/streams.ts';
import { createSpdyClient } from './spdy-client.ts';
import { translateStreams, wantsTranslation } from './stream-translator.ts';
import { readPieces, sendClose, sendMessage } from './websocket-server.ts';

const pace = new VirtualClock();

async function readAll(socket: Duplex): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of socket.incoming) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test("the accepting head is RFC 6455's", async () => {
  const head = await acceptHead({ key: 'dGhlIHNhbXBsZSBub25jZQ==', protocol: 'chat' }, crypto);
  assert.match(
    head,
    /^HTTP\/1\.1 101 [\s\S]*Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\nSec-WebSocket-Protocol: chat\r\n\r\n$/,
  );
});

test('messages: fragments, lengths, pings, pieces of frames; a close ends', async () => {
  const [client, server] = createDuplexPair();
  const long = Buffer.alloc(300, 7);
  const bytes = Buffer.concat([
    maskedFrame(2, Buffer.from('he'), false),
    maskedFrame(9, Buffer.from('p')),
    maskedFrame(0, Buffer.from('llo')),
    maskedFrame(2, long),
    maskedFrame(8, Buffer.alloc(0)),
    maskedFrame(2, Buffer.from('late')),
  ]);
  const messages: string[] = [];
  const reading = (async () => {
    for await (const { isFirst, payload } of readPieces(server, pace)) {
      if (isFirst) messages.push('');
      messages.push(`${messages.pop()}${payload.toString('latin1')}`);
    }
  })();
  for (let at = 0; at < bytes.length; at += 11) await client.write(bytes.subarray(at, at + 11));
  await reading;
  assert.deepEqual(messages, ['hello', long.toString('latin1')]);
  await sendMessage(server, Buffer.alloc(70_000));
  await sendClose(server, 1000);
  const sent = await readAll(client);
  assert.deepEqual([...sent.subarray(0, 3)], [0x8a, 1, 0x70], 'the ping was answered');
  assert.equal(sent.readBigUInt64BE(5), 70_000n);
  assert.deepEqual([...sent.subarray(-4)], [0x88, 2, 3, 0xe8]);
});

test('an unmasked frame of a client ends the connection', async () => {
  const [client, server] = createDuplexPair();
  await client.write(Buffer.from([0x82, 1, 0x61]));
  await assert.rejects(readPieces(server, pace).next(), /must be masked/);
});

test('SPDY: streams are opened with plain headers, data and ends go both ways, pings are echoed', async () => {
  const [ours, peer] = createDuplexPair();
  const spdy = createSpdyClient(ours, ours.incoming, pace);
  const seen: string[] = [];
  const stream = await spdy.open(
    { streamtype: 'error' },
    async (chunk, last) => void seen.push(`${Buffer.from(chunk).toString()}${last ? '.' : ''}`),
  );
  await stream.write(Buffer.from('in'));
  await stream.end();
  await peer.write(Buffer.from([0x80, 3, 0, 6, 0, 0, 0, 4, 0, 0, 0, 2]));
  await peer.write(Buffer.from([0, 0, 0, 1, 0, 0, 0, 2, 0x6f, 0x6b, 0, 0, 0, 1, 1, 0, 0]));
  await peer.write(Buffer.from([0]));
  await peer.end();
  await spdy.run();
  assert.deepEqual(seen, ['ok', '.']);
  await ours.end();
  const sent = await readAll(peer);
  assert.deepEqual([...sent.subarray(0, 4)], [0x80, 3, 0, 1]);
  assert.ok(sent.includes('streamtype') && sent.includes('error'));
  assert.deepEqual(
    [...sent.subarray(-30)],
    [0, 0, 0, 1, 0, 0, 0, 2, 0x69, 0x6e, 0, 0, 0, 1, 1, 0, 0, 0, 0x80, 3, 0, 6, 0, 0, 0, 4, 0, 0, 0, 2],
  );
});

test("v5 alone is translated; its end of input ends the stream, the last stream's end closes", async () => {
  const headers = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-key': 'a',
    'sec-websocket-protocol': 'v5.channel.k8s.io, v4.channel.k8s.io',
  };
  assert.equal(wantsTranslation(headers), true);
  assert.equal(wantsTranslation({ ...headers, 'sec-websocket-protocol': 'v4.channel.k8s.io' }), false);
  assert.equal(wantsTranslation({ ...headers, upgrade: 'SPDY/3.1' }), false);
  const { net, clock } = createSimPlatform();
  let kubelet: Duplex | undefined;
  net.listenRaw(80, (socket) => void (kubelet = socket));
  const request = { method: 'GET', url: 'http://127.0.0.1/exec', headers, signal: new AbortController().signal };
  const answering = translateStreams({ net, pace: clock, crypto: { webcrypto: crypto } as never }, request, {
    stdin: true,
    stdout: true,
    stderr: false,
    tty: false,
  });
  await clock.settle();
  const asked = await kubelet!.incoming[Symbol.asyncIterator]().next();
  assert.match(
    Buffer.from(asked.value as Uint8Array).toString(),
    /^POST \/exec HTTP\/1\.1\r\n[\s\S]*upgrade: SPDY\/3\.1\r\n/,
  );
  await kubelet!.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
  const answer = await answering;
  const [client, server] = createDuplexPair();
  const over = answer.kind === 'upgrade' ? answer.accept(server) : undefined;
  await client.write(maskedFrame(2, Buffer.from([255, 0])));
  // Streams 1, 3 and 5 are the result, the input and the output.
  await kubelet!.write(Buffer.from([0, 0, 0, 5, 1, 0, 0, 2, 0x6f, 0x6b, 0, 0, 0, 1, 1, 0, 0, 2, 0x7b, 0x7d]));
  await clock.settle();
  await client.write(maskedFrame(8, Buffer.alloc(0)));
  const sent = (await readAll(client)).toString('latin1');
  await over;
  assert.equal(sent.slice(sent.indexOf('\r\n\r\n') + 4), '\x82\x01\x01\x82\x03\x01ok\x82\x03\x03{}\x88\x02\x03\xe8');
});
