/** Connections that all send at once: which are read in which turn. */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, test } from 'node:test';
import { ReadThrottle } from './read-throttle.ts';

let starts = 0;

/** A connection whose handle records whether it is read, and counts the pauses. */
class FakeSocket extends EventEmitter {
  isRead = true;
  stops = 0;
  /** When it was last begun to be read. */
  started = 0;
  _handle: { reading: boolean; bytesRead: number; readStop(): void; readStart(): void } | null = {
    reading: true,
    bytesRead: 0,
    readStop: () => {
      this.isRead = false;
      this.stops++;
    },
    readStart: () => {
      this.isRead = true;
      this.started = ++starts;
    },
  };

  /** The kernel had something for it. */
  send(): void {
    this._handle!.bytesRead++;
  }
}

function createWorld() {
  let nowMs = 0;
  const immediates: (() => void)[] = [];
  const waiting = new Map<string | undefined, number>();
  const throttle = new ReadThrottle({
    nowMs: () => nowMs,
    nextTurn: (callback) => immediates.push(callback),
    waitingOf: (flow) => waiting.get(flow) ?? 0,
  });
  const all: FakeSocket[] = [];
  const open = (count: number, flow?: string): FakeSocket[] =>
    Array.from({ length: count }, () => {
      const socket = new FakeSocket();
      socket.started = ++starts;
      all.push(socket);
      throttle.add(socket, flow);
      return socket;
    });
  return {
    throttle,
    waiting,
    open,
    inOrder: () => all.toSorted((a, b) => a.started - b.started),
    /** Requests that wait, the last of them so late in the phase. */
    reportWaiting: (afterMs: number): void => {
      throttle.reportWaiting();
      nowMs += afterMs;
      throttle.reportWaiting();
    },
    pass: (ms: number): void => void (nowMs += ms),
    turn: (): void => {
      for (const callback of immediates.splice(0)) callback();
    },
    isQuiet: () => immediates.length === 0,
  };
}

type World = ReturnType<typeof createWorld>;

const readOf = (sockets: readonly FakeSocket[]): number => sockets.filter(({ isRead }) => isRead).length;

/**
 * A phase of the loop, as the kernel tells of connections: in the order in which they went on. The first one of the flood takes
 * all the time. Gives those with data that were read before it.
 */
function phaseOf(world: World, flood: ReadonlySet<FakeSocket>, withData: readonly FakeSocket[]): FakeSocket[] {
  const heard: FakeSocket[] = [];
  for (const socket of world.inOrder()) {
    if (!socket.isRead) continue;
    if (withData.includes(socket)) {
      socket.send();
      heard.push(socket);
    }
    if (!flood.has(socket)) continue;
    socket.send();
    world.reportWaiting(5);
    break;
  }
  world.turn();
  return heard;
}

describe('throttled reading', () => {
  test('a short phase pauses no connection', () => {
    const { open, reportWaiting, turn, isQuiet } = createWorld();
    const sockets = open(100, 'a');
    for (let phase = 0; phase < 10; phase++) {
      reportWaiting(1);
      assert.equal(readOf(sockets), 100);
      turn();
    }
    assert.ok(isQuiet());
  });

  test('after 4 ms no connection is read any more; silent ones resume 256 at once', () => {
    const { open, reportWaiting, turn, throttle, isQuiet } = createWorld();
    const sockets = open(600, 'a');
    reportWaiting(5);
    assert.equal(readOf(sockets), 0);
    for (const count of [256, 512, 600]) {
      turn();
      assert.equal(readOf(sockets), count);
    }
    assert.equal(throttle.paused, 0);
    turn();
    assert.ok(isQuiet());
  });

  test('those that were read rest for a turn, then sixteen of them go on in each', () => {
    const { open, reportWaiting, turn, throttle } = createWorld();
    const busy = open(40, 'a');
    const [silent] = open(1, 'a');
    reportWaiting(5);
    turn();
    for (const socket of busy) socket.send();
    reportWaiting(5);
    for (const count of [0, 16, 32, 40]) {
      turn();
      assert.equal(readOf(busy), count);
      assert.ok(silent?.isRead);
    }
    assert.equal(throttle.paused, 0);
  });

  test('flows take turns, the cluster before all', () => {
    const { open, reportWaiting, turn } = createWorld();
    const many = open(500, 'a');
    const own = open(3);
    const [single] = open(1, 'b');
    reportWaiting(5);
    turn();
    assert.equal(readOf(own), 3);
    assert.ok(single?.isRead);
    assert.equal(readOf(many), 252);
  });

  for (const size of [40, 250, 600, 3000])
    test(`a flood of ${size} connections is read beside all others: behind silent ones, new ones, those of its own address`, () => {
      const world = createWorld();
      const flood = new Set(world.open(size, 'flood'));
      const own = world.open(600).at(-1)!;
      const behind = world.open(40, 'many').at(-1)!;
      for (let phase = 0; phase < 5; phase++) phaseOf(world, flood, []);
      const fresh = world.open(1, 'new')[0]!;
      const neighbour = world.open(1, 'flood')[0]!;
      const heard = new Map([own, behind, fresh].map((socket) => [socket, 0]));
      let isNeighbourHeard = false;
      for (let phase = 0; phase < 40; phase++) {
        for (const socket of phaseOf(world, flood, [...heard.keys(), neighbour])) {
          if (socket === neighbour) isNeighbourHeard = true;
          else heard.set(socket, heard.get(socket)! + 1);
        }
      }
      assert.ok(
        [...heard.values()].every((count) => count >= 10),
        [...heard.values()].join(),
      );
      for (let phase = 0; phase < size * 4 && !isNeighbourHeard; phase++)
        isNeighbourHeard = phaseOf(world, flood, [neighbour]).includes(neighbour);
      assert.ok(isNeighbourHeard, 'one of the same address is heard after each of the others');
    });

  test('thousands of presses of one phase stop each connection once', () => {
    const { open, reportWaiting, throttle } = createWorld();
    const sockets = open(100, 'a');
    reportWaiting(5);
    for (let count = 0; count < 10_000; count++) throttle.reportWaiting();
    assert.deepEqual([...new Set(sockets.map(({ stops }) => stops))], [1]);
  });

  test('a flow with waiting requests is not read before they are served', () => {
    const { open, reportWaiting, turn, waiting } = createWorld();
    const busy = open(10, 'a');
    const other = open(1, 'b');
    waiting.set('a', 1000);
    reportWaiting(5);
    turn();
    assert.deepEqual([readOf(busy), readOf(other)], [0, 1]);
    waiting.set('a', 10);
    turn();
    assert.equal(readOf(busy), 10);
  });

  test('a connection that closes or is removed while it is paused is forgotten', () => {
    const { open, reportWaiting, turn, throttle, isQuiet } = createWorld();
    const [closed, taken, stopped] = open(3, 'a');
    reportWaiting(5);
    closed!.emit('close');
    throttle.remove(taken!);
    stopped!._handle = null;
    turn();
    assert.deepEqual(
      [closed, taken].map((socket) => socket!.isRead),
      [false, false],
    );
    assert.equal(throttle.paused, 0);
    assert.ok(isQuiet());
  });

  test('a session of HTTP/2 that writes is left to node:http2', () => {
    const { open, reportWaiting, turn, throttle } = createWorld();
    const [writing, idle] = open(2, 'a');
    for (const socket of [writing!, idle!]) Object.assign(socket, { alpnProtocol: 'h2' });
    Object.assign(writing!._handle!, { writeQueueSize: 1 });
    reportWaiting(5);
    assert.deepEqual([writing!.isRead, idle!.isRead], [true, false]);
    Object.assign(idle!._handle!, { writeQueueSize: 1 });
    turn();
    assert.equal(idle!.isRead, false, 'node:http2 reads it after what it writes now');
    assert.equal(throttle.paused, 0);
  });

  test('writes do not reportWaiting', () => {
    const { throttle, pass } = createWorld();
    const socket = Object.assign(new FakeSocket(), { _unrefTimer: () => undefined });
    throttle.add(socket, 'a');
    for (let write = 0; write < 100; write++) {
      socket._unrefTimer();
      pass(1);
    }
    assert.ok(socket.isRead);
    for (let read = 0; read < 100; read++) {
      socket.send();
      socket._unrefTimer();
      pass(1);
    }
    assert.equal(socket.isRead, false);
  });

  test('a connection that Node.js itself paused stays paused', () => {
    const { open, reportWaiting, turn } = createWorld();
    const [socket] = open(1, 'a');
    reportWaiting(5);
    socket!._handle!.reading = false;
    turn();
    assert.equal(socket!.isRead, false);
  });
});
