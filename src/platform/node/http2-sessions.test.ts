import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { Http2Sessions, type SweptSession } from './http2-sessions.ts';

class Session extends EventEmitter {
  readonly calls: string[] = [];
  destroyed = false;
  canPing = true;
  closed = false;
  close(): void {
    this.calls.push('close');
    this.closed = true;
  }
  destroy(): void {
    this.calls.push('destroy');
    this.destroyed = true;
    this.emit('close');
  }
  goaway(): void {
    this.calls.push('goaway');
  }
  ping(): boolean {
    this.calls.push('ping');
    return this.canPing;
  }
}

const stream = () => Object.assign(new EventEmitter(), { destroy: () => undefined });

function withSession() {
  const sessions = new Http2Sessions<SweptSession>();
  const session = new Session();
  const startMs = performance.now();
  const socket = Object.assign(new EventEmitter(), { destroy: () => session.calls.push('destroy socket') });
  sessions.add(session as unknown as SweptSession, socket, startMs);
  const sweepAfter = (seconds: number): string[] => {
    sessions.sweep(startMs + seconds * 1000);
    return session.calls.splice(0);
  };
  return { sessions, session, socket, startMs, sweepAfter };
}

test('a connection without streams is closed after 90 seconds', () => {
  const { session, sweepAfter } = withSession();
  assert.deepEqual([sweepAfter(60), sweepAfter(91)], [[], ['close']]);
  session.destroy();
});

test('a connection that does not close by the next sweep is destroyed', () => {
  const { sweepAfter } = withSession();
  assert.deepEqual([sweepAfter(91), sweepAfter(121)], [['close'], ['destroy']]);
});

test('a session that has ended has no listeners but one for late errors', () => {
  const { session } = withSession();
  session.on('stream', () => undefined);
  session.destroy();
  assert.deepEqual(session.eventNames(), ['error']);
});

test('a connection with idle streams gets a ping, and is destroyed without an answer', () => {
  const { sessions, session, sweepAfter } = withSession();
  sessions.began(session as unknown as SweptSession, stream());
  assert.deepEqual([sweepAfter(91), sweepAfter(120), sweepAfter(182)], [['ping'], [], ['ping']]);
  session.canPing = false;
  assert.deepEqual(sweepAfter(273), ['ping', 'goaway', 'destroy socket']);
});

test('a connection whose peer has ended its side is destroyed', () => {
  const { session, socket } = withSession();
  socket.emit('end');
  assert.deepEqual(session.calls, ['destroy socket']);
  session.destroy();
});

test('a stream that ended makes the connection idle from then on', () => {
  const { sessions, session, sweepAfter } = withSession();
  const ended = stream();
  sessions.began(session as unknown as SweptSession, ended);
  ended.emit('close');
  assert.deepEqual(sweepAfter(92), ['close']);
  session.destroy();
});

test('the connection of a session that was destroyed and has not closed is destroyed', () => {
  const { session, sweepAfter } = withSession();
  session.destroyed = true;
  assert.deepEqual([sweepAfter(1), sweepAfter(91)], [['destroy socket'], []]);
});
