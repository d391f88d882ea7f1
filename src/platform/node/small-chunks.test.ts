/** Servers that respond in chunks of one byte: the response is complete, in few pieces. */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { createNodeNet } from './net.ts';

async function answered(pieces: readonly string[]): Promise<{ readonly text: string; readonly count: number }> {
  const server = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .once('data', () => {
        const chunks = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('');
        socket.end(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const net = createNodeNet();
  try {
    const { body } = await net.http({ method: 'GET', url: `http://127.0.0.1:${port}/`, headers: {} });
    let [text, count] = ['', 0];
    for await (const chunk of body) {
      text += Buffer.from(chunk).toString('latin1');
      count++;
    }
    return { text, count };
  } finally {
    net.close();
    server.close();
  }
}

test('chunks of one byte are joined', async () => {
  const pieces = Array.from({ length: 50_000 }, (_, at) => String(at % 10));
  const { text, count } = await answered(pieces);
  assert.equal(text, pieces.join(''));
  assert.ok(count < 500, `${count} pieces`);
});

test('small and large chunks stay in their order', async () => {
  const pieces = Array.from({ length: 300 }, (_, at) => `<${at}:${'x'.repeat((at * 37) % 3000)}>`);
  const { text } = await answered(pieces);
  assert.equal(text, pieces.join(''));
});
