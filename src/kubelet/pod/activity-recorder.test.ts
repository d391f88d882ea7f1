import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTime } from '../../api/time.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createActivityRecorder } from './activity-recorder.ts';

test('events are recorded from the first question until a minute after the last', async () => {
  const clock = new VirtualClock();
  const recorder = createActivityRecorder(clock);
  const whats = (): readonly string[] => recorder.activityOf('a').events.map(({ what }) => what);
  recorder.event('a', 'source', 'ADD');
  assert.equal(recorder.active, false);
  assert.deepEqual(whats(), []);
  assert.equal(recorder.active, true);
  recorder.event('a', 'pleg', 'ContainerStarted');
  recorder.event('b', 'pleg', 'ContainerStarted');
  assert.equal(recorder.step('b', 'sync'), undefined);
  assert.deepEqual(whats(), ['ContainerStarted']);
  await clock.advance(61_000);
  recorder.event('a', 'timer', 'due');
  assert.equal(recorder.active, false);
  assert.deepEqual(whats(), []);
});

test('a step has its duration, its error, and the time of the next one', async () => {
  const clock = new VirtualClock();
  const recorder = createActivityRecorder(clock);
  recorder.activityOf('a');
  const end = recorder.step('a', 'sync')!;
  assert.equal(recorder.activityOf('a').events[0]?.durationMs, undefined);
  await clock.advance(250);
  end({ error: 'no network', nextSyncMs: 1000 });
  const [event] = recorder.activityOf('a').events;
  assert.deepEqual([event?.what, event?.durationMs, event?.error], ['sync', 250, 'no network']);
  assert.equal(parseTime(event!.nextSync!) - clock.nowMs(), 1000);
});

test('the records are bounded: the newest events, the pods requested last', () => {
  const recorder = createActivityRecorder(new VirtualClock());
  recorder.activityOf('a');
  for (let index = 0; index < 500; index++) recorder.event('a', 'pleg', `${index}`);
  const { events } = recorder.activityOf('a');
  assert.deepEqual([events.length, events[0]?.what, events.at(-1)?.number], [200, '300', 499]);
  for (let index = 0; index < 16; index++) recorder.activityOf(`other-${index}`);
  recorder.event('a', 'pleg', 'late');
  assert.deepEqual(recorder.activityOf('a').events, []);
});
