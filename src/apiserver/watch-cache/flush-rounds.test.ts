import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../../platform/clock.ts';
import { createMemoryLog } from '../../platform/sim/log.ts';
import { FlushRounds, type RoundMember } from './flush-rounds.ts';
import { FrameSink } from './watch-sinks.ts';

/** A clock that moves by `othersMs` before each turn and by `turnMs` from each yield to the next, and holds its timers. */
function createTurnClock(): {
  clock: Clock;
  turn: () => Promise<void>;
  wait: (ms: number) => void;
  timers: Map<number, () => void>;
  turnMs: number;
  othersMs: number;
} {
  let nowMs = 1000;
  const yields: (() => void)[] = [];
  const timers = new Map<number, () => void>();
  const control = {
    turnMs: 0,
    othersMs: 0,
    timers,
    clock: {
      monotonicMs: () => nowMs,
      yield: () => new Promise<void>((resolve) => yields.push(resolve)),
      setTimer: (delayMs: number, callback: () => void) => {
        timers.set(delayMs, callback);
        return () => undefined;
      },
      setTicker: (periodMs: number, callback: () => void) => {
        timers.set(periodMs, callback);
        return () => void timers.delete(periodMs);
      },
    } as unknown as Clock,
    wait: (ms: number) => void (nowMs += ms),
    /** Lets everything that yielded go on, one after the other. */
    async turn() {
      await settle();
      nowMs += control.othersMs;
      for (const [index, resume] of yields.splice(0).entries()) {
        if (index > 0) nowMs += control.turnMs;
        resume();
        await settle();
      }
      await settle();
    },
  };
  return control;
}

async function settle(): Promise<void> {
  for (let turns = 0; turns < 10; turns++) await Promise.resolve();
}

function createMember(
  rounds: FlushRounds,
  written: string[],
  name: string,
): RoundMember & { give(text: string): void } {
  let frames: Uint8Array[] = [];
  const member = {
    give(text: string) {
      if (frames.length === 0) rounds.add(member);
      frames.push(Buffer.from(text));
    },
    flush(join: (frames: readonly Uint8Array[]) => Uint8Array) {
      const piece = join(frames);
      written.push(`${name} ${Buffer.from(piece).toString()}`);
      frames = [];
      return piece.length;
    },
    fail: (error: unknown) => void written.push(`${name} ${String(error)}`),
  };
  return member;
}

test('a round is followed by a pause of its length, and later events are flushed together', async () => {
  const control = createTurnClock();
  const rounds = new FlushRounds(control.clock, createMemoryLog());
  const written: string[] = [];
  const [a, b] = [createMember(rounds, written, 'a'), createMember(rounds, written, 'b')];
  a.give('1');
  b.give('1');
  a.give('2');
  assert.deepEqual(written, [], 'not while changes are handed out');
  control.turnMs = 30;
  await control.turn();
  assert.deepEqual(written.splice(0), ['a 12', 'b 1']);
  control.turnMs = 0;
  a.give('3');
  b.give('3');
  a.give('4');
  await control.turn();
  assert.deepEqual([written, [...control.timers.keys()]], [[], [30]]);
  for (const fire of control.timers.values()) fire();
  await control.turn();
  assert.deepEqual(written, ['a 34', 'b 3']);
});

test('many are flushed in portions; changes meanwhile are included in the later portions', async () => {
  const control = createTurnClock();
  const rounds = new FlushRounds(control.clock, createMemoryLog());
  const written: string[] = [];
  const members = Array.from({ length: 100 }, (_, index) => createMember(rounds, written, `${index}`));
  for (const member of members) member.give('1');
  control.turnMs = 4;
  const perTurn: number[] = [];
  await settle();
  while (written.length < 100) {
    perTurn.push(written.length);
    if (perTurn.length === 2) members.at(-1)!.give('2');
    await control.turn();
  }
  assert.deepEqual(perTurn, [32, 64, 96], 'others have their turn after each 32');
  assert.deepEqual([written[0], written[98], written[99]], ['0 1', '98 1', '99 12']);
  members[0]!.give('3');
  await control.turn();
  assert.deepEqual([...control.timers.keys()], [16], 'the pause is as long as all of the writing');
});

test('large frames are written a few at a time, however long others take', async () => {
  const control = createTurnClock();
  const rounds = new FlushRounds(control.clock, createMemoryLog());
  const frame = Buffer.alloc(1024 * 1024);
  let written = 0;
  const write = (): Promise<void> => {
    written++;
    return Promise.resolve();
  };
  const sinks = Array.from({ length: 100 }, () => new FrameSink(rounds));
  for (const sink of sinks) {
    void sink.run({ write, end: async () => undefined });
    sink.push([frame]);
  }
  [control.turnMs, control.othersMs] = [1, 50];
  const perTurn: number[] = [];
  await settle();
  for (let count = 0; count < written; await control.turn()) {
    perTurn.push(written - count);
    count = written;
  }
  assert.deepEqual(perTurn, Array<number>(25).fill(4));
});

test('while others take long, as many are written at once as take as long', async () => {
  const control = createTurnClock();
  const rounds = new FlushRounds(control.clock, createMemoryLog());
  const written: string[] = [];
  const members = Array.from({ length: 400 }, (_, index) => createMember(rounds, written, `${index}`));
  for (const member of members) member.give('1');
  [control.turnMs, control.othersMs] = [1, 5];
  const perTurn: number[] = [];
  await settle();
  for (let count = 0; count < written.length; await control.turn()) {
    perTurn.push(written.length - count);
    count = written.length;
  }
  assert.deepEqual(perTurn, [32, 160, 208]);
});

test('a reader that reads nothing is disconnected and its queue dropped; one that received much at once is not', async () => {
  const control = createTurnClock();
  const rounds = new FlushRounds(control.clock, createMemoryLog());
  const large = Buffer.alloc(9 * 1024 * 1024);
  const open = (taken: Promise<void>) => {
    const sink = new FrameSink(rounds);
    const written: number[] = [];
    const write = (piece: Uint8Array | string): Promise<void> => {
      written.push(piece.length);
      return taken;
    };
    const run = sink.run({ write, end: async () => void written.push(0) });
    return { sink, written, run };
  };
  const [stuck, quick] = [open(new Promise(() => undefined)), open(Promise.resolve())];
  for (const { sink } of [stuck, quick]) sink.push([Buffer.from('first')]);
  await control.turn();
  const fits = [stuck, quick].map(({ sink }) => [large, large].map((piece) => sink.push([piece])));
  assert.deepEqual(fits, [
    [true, false],
    [true, false],
  ]);
  for (const { sink } of [stuck, quick]) sink.end();
  await control.turn();
  await assert.rejects(stuck.run, /does not keep up/);
  await quick.run;
  assert.deepEqual([stuck.written, quick.written], [[5], [5, large.length, large.length, 0]]);
});

test('watches that take nothing of their first states are cut off while all together hold too much', async () => {
  const control = createTurnClock();
  const rounds = new FlushRounds(control.clock, createMemoryLog());
  const state = Array.from({ length: 32 }, () => Buffer.alloc(4 * 1024 * 1024));
  let cut = 0;
  const pieces: number[] = [];
  const open = (takes: boolean): void => {
    const sink = new FrameSink(rounds);
    const write = (piece: Uint8Array | string): Promise<void> => {
      if (takes) pieces.push(piece.length);
      return takes ? Promise.resolve() : new Promise(() => undefined);
    };
    sink.run({ write, end: async () => undefined }).catch(() => cut++);
    sink.push(state);
  };
  for (let count = 0; count < 3; count++) open(false);
  open(true);
  for (let turn = 0; turn < 80; turn++) await control.turn();
  assert.equal(pieces.length, 32, 'a reader gets its state piece by piece');
  control.wait(2500);
  control.timers.get(1000)!();
  await settle();
  assert.equal(cut, 1, '256 MiB are left');
  control.wait(60_000);
  control.timers.get(1000)!();
  await settle();
  assert.equal(cut, 3);
  assert.equal(control.timers.has(1000), false, 'nothing is left to look after');
});

test('a watch whose peer disconnected during its initial state leaves no entry', async () => {
  const control = createTurnClock();
  const sink = new FrameSink(new FlushRounds(control.clock, createMemoryLog()));
  const write = (): Promise<void> => Promise.reject(new Error('gone'));
  const run = sink.run({ write, end: async () => undefined });
  sink.push([Buffer.alloc(9 * 1024 * 1024)]);
  await control.turn();
  await assert.rejects(run, /gone/);
  await settle();
  sink.push([Buffer.alloc(1024 * 1024)]);
  control.timers.get(1000)!();
  assert.equal(control.timers.has(1000), false);
});

test('sinks write joint events in one piece, equal for all, and continue when the connection has drained', async () => {
  const control = createTurnClock();
  const rounds = new FlushRounds(control.clock, createMemoryLog());
  const frames = ['1', '2', '3'].map((text) => Buffer.from(text));
  const connections = ['a', 'b'].map(() => {
    const sink = new FrameSink(rounds);
    const pieces: Uint8Array[] = [];
    const taken: PromiseWithResolvers<void>[] = [];
    const done = sink.run({
      write(piece) {
        pieces.push(piece as Uint8Array);
        taken.push(Promise.withResolvers<void>());
        return taken.at(-1)!.promise;
      },
      end: async () => void pieces.push(Buffer.from('end')),
    });
    return { sink, pieces, taken, done };
  });
  const [a, b] = connections as [(typeof connections)[0], (typeof connections)[0]];
  for (const { sink } of connections) sink.push(frames.slice(0, 2));
  await control.turn();
  assert.equal(a.pieces[0], b.pieces[0], 'one copy for both');
  for (const { sink } of connections) sink.push(frames.slice(2));
  await control.turn();
  assert.deepEqual([a.pieces.length, b.pieces.length], [1, 1], 'neither connection has taken the first');
  b.taken[0]!.resolve();
  await control.turn();
  a.sink.end();
  b.sink.end();
  b.taken[1]!.resolve();
  await control.turn();
  await b.done;
  assert.deepEqual(
    [a, b].map(({ pieces }) => pieces.map((piece) => Buffer.from(piece).toString())),
    [['12'], ['12', '3', 'end']],
  );
  a.taken[0]!.reject(new Error('gone'));
  await assert.rejects(a.done, /gone/);
});

test('a connection that throws ends its own watch; the others of the round and the rounds after it go on', async () => {
  const control = createTurnClock();
  const rounds = new FlushRounds(control.clock, createMemoryLog());
  const written: string[] = [];
  const open = (name: string, isBroken = false) => {
    const sink = new FrameSink(rounds);
    const write = (piece: Uint8Array | string): Promise<void> => {
      if (isBroken) throw new Error('broken');
      written.push(`${name} ${String(piece)}`);
      return Promise.resolve();
    };
    return { sink, run: sink.run({ write, end: async () => undefined }) };
  };
  const [a, broken, b] = [open('a'), open('broken', true), open('b')];
  for (const { sink } of [a, broken, b]) sink.push([Buffer.from('1')]);
  const failed = assert.rejects(broken.run, /^Error: broken$/);
  await control.turn();
  await failed;
  for (const { sink } of [a, broken, b]) sink.push([Buffer.from('2')]);
  await control.turn();
  assert.deepEqual(written, ['a 1', 'b 1', 'a 2', 'b 2']);
});
