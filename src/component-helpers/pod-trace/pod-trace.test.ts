import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { podTrace, type PodTrace } from './pod-trace.ts';
import { StepRecords } from './step-records.ts';
import { noSteps, stepScope } from './step-scope.ts';
import type { ComponentSteps, TraceStep } from './trace-step.ts';
import { waterfall } from './waterfall.ts';

const UID = 'u';
const metadata = { name: 'web', namespace: 'default', uid: UID };

function traceOf(components: readonly Omit<ComponentSteps, 'uid'>[], missing: readonly string[] = []): PodTrace {
  const named = components.map((component) => ({ ...component, uid: UID }));
  return podTrace({ metadata, nodeName: 'n', createdMs: 0, components: named, missing });
}

const step = (name: string, startMs: number, endMs: number, parent?: number): TraceStep => ({
  name,
  startMs,
  endMs,
  ...(parent !== undefined && { parent }),
});

test('only steps without others in them account for time, and each moment counts once', () => {
  const kubelet = (steps: readonly TraceStep[]) => traceOf([{ component: 'kubelet', steps, finishedMs: 1100 }]);
  assert.equal(kubelet([step('a', 100, 1100)]).accountedFor, 1);
  // The enclosing step does not account for the 500 ms between the inner ones.
  const within = kubelet([step('sync', 100, 1100), step('a', 100, 300, 0), step('b', 800, 1100, 0)]);
  assert.equal(within.accountedFor, 0.5);
  assert.equal(kubelet([step('a', 100, 700), step('b', 300, 600), step('c', 650, 700)]).accountedFor, 0.6);
  assert.equal(kubelet([step('a', 100, 600), step('later', 1050, 2000)]).accountedFor, 0.55);
  const endless = traceOf([{ component: 'kubelet', steps: [{ name: 'a', startMs: 100 }], finishedMs: 1100 }]);
  assert.equal(endless.accountedFor, 1);
});

test('a pod travels from one component to the next by a watch', () => {
  const request = (name: string, at: number): TraceStep[] => [
    step(name, at, at + 10),
    step('store', at + 2, at + 6, name === 'create' ? 0 : 2),
  ];
  const trace = traceOf([
    { component: 'kube-apiserver', steps: [...request('create', 0), ...request('bind', 30)] },
    { component: 'kube-scheduler', steps: [step('queue', 9, 12)] },
    { component: 'kubelet', steps: [step('admission', 50, 60), step('volumes', 51, 55, 0)] },
  ]);
  const shown = trace.steps.map(({ component, name, offsetMs, durationMs, depth }) =>
    [component, name, offsetMs, durationMs, depth].join(' '),
  );
  assert.deepEqual(shown.slice(4), [
    'kube-scheduler watch 6 3 0',
    'kube-scheduler queue 9 3 0',
    'kubelet watch 36 14 0',
    'kubelet admission 50 10 0',
    'kubelet volumes 51 4 1',
  ]);
  // Where the component saw the pod before the request knew that it was stored, nothing lay between.
  const early = traceOf([
    { component: 'kube-apiserver', steps: request('create', 0) },
    { component: 'kube-scheduler', steps: [step('queue', 5, 12)] },
  ]);
  assert.deepEqual(
    early.steps.map(({ name }) => name),
    ['create', 'store', 'queue'],
  );
});

test('the waterfall has a line for each step, failures, and missing parts', () => {
  const steps = [
    step('syncPod', 0, 500),
    { ...step('pull', 0, 250, 0), error: 'no such image', detail: 'web:1' },
    { name: 'readiness probe', startMs: 500 },
  ];
  const text = waterfall(
    traceOf([{ component: 'kubelet', steps, finishedMs: 1000, dropped: 3 }], ['kube-scheduler: away']),
  );
  assert.deepEqual(text.split('\n'), [
    'pod default/web on n: ready 1.00 s after its creation, 75.0 % of it accounted for',
    'kubelet',
    '  syncPod             0.0 ms   500.0 ms |━━━━━━━━━━━━━━━━━━━━                    |',
    '    pull (web:1)      0.0 ms   250.0 ms |━━━━━━━━━━                              | failed: no such image',
    '  readiness probe   500.0 ms    goes on |                    ━━━━━━━━━━━━━━━━━━━━|',
    'missing: kube-scheduler: away',
    'missing: kubelet: 3 steps between the first and the last were not kept',
    '',
  ]);
  assert.match(waterfall(traceOf([])), /^pod default\/web on n: no step of its start is remembered\n$/);
});

test('records are bounded in pods and in steps of a pod', () => {
  const records = new StepRecords(new VirtualClock(), 2);
  const pod = (name: string) => ({ uid: `uid-${name}`, namespace: 'default', name });
  for (const name of ['a', 'b', 'a', 'd', 'e', 'f', 'c']) records.of(pod(name));
  const kept = ['a', 'b', 'd', 'e', 'f', 'c'].filter((name) => records.get(`uid-${name}`) !== undefined);
  assert.deepEqual(kept, ['f', 'c']);
  const record = records.of(pod('c'));
  for (let index = 0; index < 200; index++) record.end(record.start(`step ${index}`));
  const { steps, dropped } = record.publish('kubelet');
  assert.deepEqual([steps.length, dropped, steps[0]?.name, steps.at(-1)?.name], [96, 104, 'step 0', 'step 199']);
  records.of({ ...pod('c'), uid: 'newer' });
  assert.equal(records.find('default', 'c')?.pod.uid, 'newer');
});

test('a scope records nested steps with their failures, and the times ignore jumps of wall time', async () => {
  const clock = new VirtualClock();
  const record = new StepRecords(clock, 1).of({ uid: UID, namespace: 'default', name: 'web' });
  const startMs = clock.nowMs();
  const work = stepScope({ record }).step('outer', async (scope) => {
    await scope.step('inner', () => clock.sleep(1000), 'detail');
    clock.jumpWall(3_600_000);
    await scope.step('failing', async () => {
      await clock.sleep(500);
      throw new Error('broken '.repeat(100));
    });
  });
  await assert.rejects(clock.drive(work), /broken/);
  const { steps } = record.publish('kubelet');
  const seen = steps.map(({ name, parent, startMs: at, endMs = NaN, detail }) => [
    name,
    parent,
    at - startMs,
    endMs - startMs,
    detail,
  ]);
  assert.deepEqual(seen, [
    ['outer', undefined, 0, 1500, undefined],
    ['inner', 0, 0, 1000, 'detail'],
    ['failing', 0, 1000, 1500, undefined],
  ]);
  assert.equal(steps[2]?.error?.length, 300);
  assert.equal(await noSteps.step('x', async () => 7), 7);
});
