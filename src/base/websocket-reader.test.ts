/** WebSocket messages of hostile clients. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inPieces, maskedFrame, PaceCount } from './frames-fixture.ts';
import { byChannel } from './websocket-channels.ts';
import { readMessages, type MessagePiece } from './websocket-reader.ts';

/** The messages as wholes, pings as `ping:`. */
async function messagesOf(pieces: AsyncIterable<MessagePiece>): Promise<string[]> {
  const messages: string[] = [];
  for await (const { kind, isFirst, payload } of pieces) {
    if (kind === 'ping') messages.unshift(`ping:${payload.toString('latin1')}`);
    else messages.push(`${isFirst ? '' : messages.pop()}${payload.toString('latin1')}`);
  }
  return messages;
}

const close = maskedFrame(8, Buffer.alloc(0));

describe('messages of a WebSocket', () => {
  it('are read as they were sent, whatever their frames and chunks', async () => {
    const long = 'x'.repeat(300);
    const bytes = Buffer.concat([
      maskedFrame(2, Buffer.from('he'), false),
      maskedFrame(9, Buffer.from('p')),
      maskedFrame(0, Buffer.alloc(0), false),
      maskedFrame(0, Buffer.from('llo')),
      maskedFrame(1, Buffer.alloc(0)),
      maskedFrame(2, Buffer.from(long)),
      maskedFrame(2, Buffer.alloc(66_000, 'y')),
      close,
      maskedFrame(2, Buffer.from('late')),
    ]);
    for (const size of [1, 2, 3, 5, 7, 64, 1000, 65_536, bytes.length])
      assert.deepEqual(
        await messagesOf(readMessages(inPieces(bytes, size), new PaceCount())),
        ['ping:p', 'hello', '', long, 'y'.repeat(66_000)],
        `in pieces of ${size}`,
      );
  });

  it('go to their channels, whose number may be a chunk of its own', async () => {
    const bytes = Buffer.concat([
      maskedFrame(2, Buffer.alloc(0), false),
      maskedFrame(0, Buffer.from([7]), false),
      maskedFrame(0, Buffer.from('ab')),
      maskedFrame(2, Buffer.from([1, 0x63])),
      close,
    ]);
    for (let size = 1; size < bytes.length; size++) {
      const told = new Map<number, string>();
      for await (const { channel, data } of byChannel(readMessages(inPieces(bytes, size), new PaceCount())))
        told.set(channel, (told.get(channel) ?? '') + data.toString());
      assert.deepEqual(
        [...told],
        [
          [7, 'ab'],
          [1, 'c'],
        ],
      );
    }
  });

  it('of any length are delivered in pieces, without a buffer', async () => {
    const head = Buffer.from([0x82, 0xff, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0]); // 16 TB are announced
    const chunk = Buffer.alloc(1000);
    let sent = 0;
    let received = 0;
    const pace = new PaceCount();
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield head;
      for (; sent < 4_000_000; sent += chunk.length) {
        assert.equal(received, sent, 'all that was sent has been handed out');
        yield chunk;
      }
    }
    for await (const { payload } of readMessages(endless(), pace)) received += payload.length;
    assert.equal(received, 4_000_000);
    assert.ok(pace.yields >= 4_000_000 / 70_000, `others had ${pace.yields} turns`);
    assert.equal(pace.turns, 4001, 'a turn is asked for before each chunk');
  });

  it('of empty frames, or of pings, leave others their turns', async () => {
    const frames = 10_000;
    const empty = maskedFrame(0, Buffer.alloc(0), false);
    for (const one of [empty, maskedFrame(9, Buffer.alloc(0)), maskedFrame(10, Buffer.from('pong'))]) {
      const bytes = Buffer.concat([maskedFrame(2, Buffer.alloc(0), false), ...Array<Buffer>(frames).fill(one)]);
      const pace = new PaceCount();
      let pieces = 0;
      for await (const _ of readMessages(inPieces(bytes, bytes.length), pace)) pieces++;
      assert.ok(pieces === 1 || one !== empty, 'empty fragments are nothing');
      assert.ok(pace.yields >= frames / 1024, `others had ${pace.yields} turns in ${frames} frames`);
    }
  });

  it('that break the protocol are refused', async () => {
    const text = (opcode: number, length = 1, final = true) => maskedFrame(opcode, Buffer.alloc(length), final);
    for (const [what, bytes, message] of [
      ['unmasked', Buffer.from([0x82, 1, 0x61]), /must be masked/],
      ['with an extension', Buffer.from([0xc2, 0x81, 0, 0, 0, 0, 0]), /plain/],
      ['continuation of nothing', text(0), /has not begun/],
      ['continuation after the end', Buffer.concat([text(2), text(0)]), /has not begun/],
      ['one within another', Buffer.concat([text(2, 1, false), text(2)]), /within another/],
      ['unknown kind', text(3), /unknown kind: 3/],
      ['unknown control', text(11), /control frame/],
      ['long ping', text(9, 126), /control frame/],
      ['cut close', text(8, 0, false), /control frame/],
    ] as const)
      await assert.rejects(messagesOf(readMessages(inPieces(bytes, 3), new PaceCount())), message, what);
  });
});
