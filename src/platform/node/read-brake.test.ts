/** Connections that all send at once: which are read in which turn. */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, test } from 'node:test';
import { ReadBrake } from './read-brake.ts';

/** A connection whose handle says whether it is read. */
class FakeSocket extends EventEmitter {
  isRead = true;
  _handle: { reading: boolean; bytesRead: number; readStop(): void; readStart(): void } | null = {
    reading: true,
    bytesRead: 0,
    readStop: () => void (this.isRead = false),
    readStart: () => void (this.isRead = true),
  };
}

function createWorld() {
  let nowMs = 0;
  const immediates: (() => void)[] = [];
  const waiting = new Map<string | undefined, number>();
  const brake = new ReadBrake({
    nowMs: () => nowMs,
    nextTurn: (callback) => immediates.push(callback),
    waitingOf: (lane) => waiting.get(lane) ?? 0,
  });
  const open = (count: number, lane?: string): FakeSocket[] =>
    Array.from({ length: count }, () => {
      const socket = new FakeSocket();
      brake.add(socket, lane);
      return socket;
    });
  return {
    brake,
    waiting,
    open,
    /** Requests that wait, the last of them so late in the phase. */
    press: (afterMs: number): void => {
      brake.press();
      nowMs += afterMs;
      brake.press();
    },
    turn: (): void => {
      for (const callback of immediates.splice(0)) callback();
    },
    isQuiet: () => immediates.length === 0,
  };
}

const readOf = (sockets: readonly FakeSocket[]): number => sockets.filter(({ isRead }) => isRead).length;

describe('brake on reading', () => {
  test('a phase that is short stops nobody', () => {
    const { open, press, turn, isQuiet } = createWorld();
    const sockets = open(100, 'a');
    for (let phase = 0; phase < 10; phase++) {
      press(1);
      assert.equal(readOf(sockets), 100);
      turn();
    }
    assert.ok(isQuiet());
  });

  test('after 4 ms nobody is read any more; sixteen go on in each later turn, until all do', () => {
    const { open, press, turn, brake, isQuiet } = createWorld();
    const sockets = open(40, 'a');
    press(5);
    assert.equal(readOf(sockets), 0);
    for (const count of [16, 32, 40]) {
      turn();
      assert.equal(readOf(sockets), count);
    }
    assert.equal(brake.held, 0);
    turn();
    assert.ok(isQuiet());
  });

  test('the lane of a single connection goes on beside one of hundreds, the cluster before all', () => {
    const { open, press, turn } = createWorld();
    const many = open(500, 'a');
    const own = open(3);
    const [single] = open(1, 'b');
    press(5);
    turn();
    assert.equal(readOf(own), 3);
    assert.ok(single?.isRead);
    assert.equal(readOf(many), 12);
  });

  test('a lane whose requests wait is not read before they are served', () => {
    const { open, press, turn, waiting } = createWorld();
    const busy = open(10, 'a');
    const other = open(1, 'b');
    waiting.set('a', 1000);
    press(5);
    turn();
    assert.deepEqual([readOf(busy), readOf(other)], [0, 1]);
    waiting.set('a', 10);
    turn();
    assert.equal(readOf(busy), 10);
  });

  test('a connection that closes or is taken out while it is not read is forgotten', () => {
    const { open, press, turn, brake, isQuiet } = createWorld();
    const [closed, taken, stopped] = open(3, 'a');
    press(5);
    closed!.emit('close');
    brake.remove(taken!);
    stopped!._handle = null;
    turn();
    assert.deepEqual(
      [closed, taken].map((socket) => socket!.isRead),
      [false, false],
    );
    assert.equal(brake.held, 0);
    assert.ok(isQuiet());
  });

  test('a connection that others always come before is read after one turn of theirs', () => {
    const { open, press, turn } = createWorld();
    const busy = open(20, 'a');
    const [quiet] = open(1, 'a');
    press(5);
    turn();
    for (const socket of busy) socket._handle!.bytesRead++;
    press(5);
    turn();
    assert.ok(quiet?.isRead);
    assert.equal(readOf(busy), 4, 'those that were read rest for a turn');
    turn();
    assert.equal(readOf(busy), 20);
  });

  test('a lane whose one connection was not read goes on before a lane of hundreds that were', () => {
    const { open, press, turn } = createWorld();
    const flood = open(500, 'flood');
    press(5);
    turn();
    const [quiet] = open(1, 'quiet');
    for (let phase = 0; phase < 5; phase++) {
      // The first of the flood that is read ends each phase.
      flood.find(({ isRead }) => isRead)!._handle!.bytesRead++;
      press(5);
      turn();
      assert.ok(quiet!.isRead, `phase ${phase}`);
      const goneOnBefore = flood.filter(({ isRead }) => isRead).length;
      assert.equal(goneOnBefore, 15);
    }
  });

  test('what Node.js itself has stopped stays stopped', () => {
    const { open, press, turn } = createWorld();
    const [socket] = open(1, 'a');
    press(5);
    socket!._handle!.reading = false;
    turn();
    assert.equal(socket!.isRead, false);
  });
});
