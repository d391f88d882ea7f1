import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { packSteps, unpackSteps } from './packed-steps.ts';
import { RecordedStep } from './recorded-step.ts';
import { type StepRecord, StepRecords } from './step-records.ts';

function ended(name: string, [startMs, endMs]: readonly [number, number], parent?: RecordedStep): RecordedStep {
  const step = new RecordedStep(name, startMs, parent);
  step.endMs = endMs;
  return step;
}

test('steps are unpacked with times, parents, details and errors', () => {
  const sync = ended('syncPod', [1000.5, 1300.25]);
  const pull = ended('pull', [1001, 1200.125], sync);
  pull.detail = 'image:1';
  const failed = ended('start', [1201, 1202], sync);
  failed.fail(new Error('no such file'));
  const steps = [sync, pull, failed];
  assert.deepEqual(unpackSteps(packSteps(steps)!), steps);
});

test('steps with an open one are not packed', () => {
  assert.equal(packSteps([ended('a', [1, 2]), new RecordedStep('b', 2)]), undefined);
});

function recordOf(records: StepRecords, index: number): StepRecord {
  return records.of({ uid: `u-${index}`, namespace: 'ns', name: `p-${index}` });
}

test('a record is equal after many others were added, and accepts further steps', () => {
  const clock = new VirtualClock();
  const records = new StepRecords(clock, 100);
  const record = recordOf(records, 0);
  const first = record.start('syncPod');
  record.end(record.start('pull', { parent: first }));
  record.end(first);
  const before = record.publish('kubelet');
  for (let index = 1; index < 50; index++) recordOf(records, index);
  assert.deepEqual(record.publish('kubelet'), before);
  record.end(record.start('status'));
  assert.deepEqual(
    record.publish('kubelet').steps.map(({ name, parent }) => [name, parent]),
    [
      ['syncPod', undefined],
      ['pull', 0],
      ['status', undefined],
    ],
  );
});

test('a step that ends late is kept as an object until then', () => {
  const clock = new VirtualClock();
  const records = new StepRecords(clock, 100);
  const record = recordOf(records, 0);
  const step = record.start('admission');
  for (let index = 1; index < 50; index++) recordOf(records, index);
  record.end(step);
  assert.notEqual(record.publish('kubelet').steps[0]!.endMs, undefined);
});
