import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GrpcError } from './grpc-error.ts';
import { createFrameReader, frame } from './grpc-frames.ts';
import { brokenCall, callStatus, requestHeaders } from './grpc-headers.ts';

const texts = ['', 'one', 'x'.repeat(70_000)];

test('messages are decoded as they were encoded, for all chunk boundaries', () => {
  const bytes = Buffer.concat(texts.map((text) => frame(Buffer.from(text))));
  for (const pieceLength of [1, 4, 5, 7, 1000, bytes.length]) {
    const reader = createFrameReader();
    const read: string[] = [];
    for (let at = 0; at < bytes.length; at += pieceLength) {
      for (const message of reader.read(bytes.subarray(at, at + pieceLength)))
        read.push(Buffer.from(message).toString());
    }
    assert.deepEqual(read, texts, `pieces of ${pieceLength}`);
  }
});

test('a compressed message is refused', () => {
  assert.throws(() => createFrameReader().read(Uint8Array.of(1, 0, 0, 0, 0)), { name: 'GrpcError', code: 'Internal' });
});

test('the status of a call is read from headers or trailers', () => {
  const cases: [Record<string, unknown>, 'OK' | string | undefined][] = [
    [{ ':status': 200 }, undefined],
    [{ 'grpc-status': '0' }, 'OK'],
    [
      { ':status': 200, 'grpc-status': '5', 'grpc-message': 'no%20such%20%C3%A9' },
      'rpc error: code = NotFound desc = no such é',
    ],
    [{ 'grpc-status': '5', 'grpc-message': '100%' }, 'rpc error: code = NotFound desc = 100%'],
    [{ 'grpc-status': '99' }, 'rpc error: code = Unknown desc = '],
    [{ ':status': 502 }, 'rpc error: code = Unavailable desc = unexpected HTTP status code 502'],
  ];
  for (const [headers, expected] of cases) {
    const status = callStatus(headers);
    assert.equal(status instanceof GrpcError ? status.message : status, expected);
  }
});

test('a broken connection is Unavailable with its cause', () => {
  const reset = new Error('read ECONNRESET');
  assert.equal(brokenCall(reset).message, 'rpc error: code = Unavailable desc = read ECONNRESET');
  assert.equal(brokenCall(new Error('outer', { cause: reset })).detail, 'read ECONNRESET');
  assert.equal(brokenCall(undefined).code, 'Unavailable');
});

test('the deadline is sent with the call, in at most eight digits', () => {
  assert.equal(requestHeaders(undefined, 1500)['grpc-timeout'], '1500m');
  assert.equal(requestHeaders(undefined, 1e12)['grpc-timeout'], '99999999m');
  assert.equal(requestHeaders({ own: 'x' }, undefined)['grpc-timeout'], undefined);
});
