import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Nodes, Pods } from '../api/gen/resources.ts';
import { internalError, notFound } from '../api/status-error.ts';
import type { FakeApi } from '../client/fake-api-fixture.ts';
import { createExtender, type Extender } from './extenders/extender.ts';
import { startScheduler, type Running } from './running-scheduler-fixture.ts';
import { testNode, testPod } from './scheduler-fixture.ts';

const idle = { active: 0, backoff: 0, unschedulable: 0, gated: 0 };

test('pods are bound, and counted before they are seen bound', async (t) => {
  const run = await startScheduler(
    t,
    (api) => {
      api.seed(Nodes, testNode('a', { cpu: '1' }));
      for (const name of ['p', 'q']) api.seed(Pods, testPod(name, { cpu: '600m' }));
    },
    { onBind: () => false },
  ); // Bound, but never seen bound.
  assert.equal(run.bindings().length, 1, 'the second does not fit beside the assumed first');
  assert.deepEqual(run.counts(), { ...idle, unschedulable: 1 });
  await run.clock.advance(2000);
  assert.ok(
    run.events().some((event) => event === 'Normal Scheduled Successfully assigned default/p to a'),
    run.events().join('\n'),
  );
  const condition = run.pod('q')?.status?.conditions?.[0];
  assert.equal(
    condition?.message,
    '0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.',
  );
  assert.deepEqual([condition?.type, condition?.status, condition?.reason], ['PodScheduled', 'False', 'Unschedulable']);
});

test('a pod that waits for another reason gets its own event, not a count of the first', async (t) => {
  const run = await startScheduler(t, (api) => {
    api.seed(Nodes, testNode('a', { spec: { unschedulable: true } }));
    api.seed(Pods, testPod('p', {}));
  });
  await run.clock.advance(1000);
  const taints = [{ key: 'only', value: 'few', effect: 'NoSchedule' }];
  run.api.modify(Nodes, 'a', (node) => ({ ...node, spec: { taints } }));
  await run.clock.advance(10_000);
  const waits = run.events().filter((event) => event.startsWith('Warning FailedScheduling'));
  assert.deepEqual(
    [waits.length, waits[0]?.includes('were unschedulable'), waits[1]?.includes('had untolerated taint')],
    [2, true, true],
    run.events().join('\n'),
  );
});

test('a failed binding releases the resources and is retried', async (t) => {
  const run = await startScheduler(
    t,
    (api) => {
      api.seed(Nodes, testNode('a', { cpu: '1' }));
      api.seed(Pods, testPod('p', { cpu: '600m' }));
    },
    {
      onBind: (_name, attempt) => {
        if (attempt === 1) throw internalError('store is away');
      },
    },
  );
  assert.deepEqual(run.counts(), { ...idle, backoff: 1 });
  await run.clock.advance(1000);
  assert.equal(run.bindings().length, 2);
  assert.equal(run.pod('p')?.spec?.nodeName, 'a');
  assert.deepEqual(run.counts(), idle);
});

test('a pod deleted while it is bound is forgotten', async (t) => {
  const run: Running = await startScheduler(
    t,
    (api) => {
      api.seed(Nodes, testNode('a', { cpu: '1' }));
      api.seed(Pods, testPod('p', { cpu: '600m' }));
    },
    {
      onBind: () => {
        throw notFound({ group: '', resource: 'pods' }, 'p');
      },
    },
  );
  run.api.remove(Pods, 'default/p');
  await run.clock.advance(20_000);
  assert.deepEqual([run.bindings().length, run.counts()], [1, idle]);
});

test('a failed binding retries pods that wait for its resources', async (t) => {
  const run: Running = await startScheduler(
    t,
    (api) => {
      api.seed(Nodes, testNode('a', { cpu: '1' }));
      for (const name of ['p', 'q']) api.seed(Pods, testPod(name, { cpu: '600m' }));
    },
    {
      // Deleted, although the scheduler does not see it.
      onBind: (name) => {
        if (name === 'p') throw notFound({ group: '', resource: 'pods' }, name);
      },
    },
  );
  assert.deepEqual([run.bindings(), run.counts()], [['p', 'q'], idle]);
  assert.equal(run.pod('q')?.spec?.nodeName, 'a');
});

test('the queue sizes are reported until the end', async (t) => {
  const life = new AbortController();
  const run = await startScheduler(t, (api) => api.seed(Pods, testPod('p', { cpu: '600m' })), { life });
  assert.match(await run.metrics.expose(), /^scheduler_pending_pods\{queue="unschedulable"\} 1$/m);
  life.abort(new Error('lost the lead'));
  assert.doesNotMatch(await run.metrics.expose(), /^scheduler_(pending_pods|cache_size|unschedulable_pods)\{/m);
});

test('a new node wakes a waiting pod', async (t) => {
  const run = await startScheduler(t, (api) => api.seed(Pods, testPod('p', { cpu: '600m' })));
  assert.deepEqual(run.counts(), { ...idle, unschedulable: 1 });
  run.api.seed(Nodes, testNode('a', { cpu: '1' }));
  await run.clock.advance(1100);
  assert.equal(run.pod('p')?.spec?.nodeName, 'a');
});

test('a pod of higher priority preempts one of lower priority', async (t) => {
  const run = await startScheduler(t, (api) => {
    api.seed(Nodes, testNode('a', { cpu: '1' }));
    api.seed(Pods, testPod('low', { cpu: '600m', spec: { nodeName: 'a' } }));
    api.seed(Pods, testPod('high', { cpu: '600m', priority: 100 }));
  });
  await run.clock.advance(100);
  assert.equal(run.pod('low'), undefined, 'evicted');
  await run.clock.advance(5000);
  assert.equal(run.pod('high')?.spec?.nodeName, 'a');
  assert.ok(
    run.api.requests.some((r) => JSON.stringify(r.body ?? '').includes('"nominatedNodeName":"a"')),
    'nominated',
  );
  assert.ok(run.events().includes('Normal Preempted Preempted by pod uid-high on node a'), run.events().join('\n'));
});

/** An extender with only a preempt verb. */
function preemptingExtender(answer: object): Extender {
  const http = async () => ({
    status: 200,
    headers: {},
    body: (async function* () {
      yield Buffer.from(JSON.stringify(answer));
    })(),
    cancel: () => undefined,
  });
  const verbs = { filterVerb: '', prioritizeVerb: '', preemptVerb: 'preempt', bindVerb: '' };
  const rest = { weight: 1, httpTimeoutMs: 5000, nodeCacheCapable: true, managedResources: [], ignoredResources: [] };
  return createExtender({ net: { http } }, { urlPrefix: 'http://ext', ...verbs, ...rest, ignorable: false });
}

const twoFull = (api: FakeApi): void => {
  for (const name of ['a', 'b']) {
    api.seed(Nodes, testNode(name, { cpu: '1' }));
    api.seed(Pods, testPod(`low-${name}`, { cpu: '600m', spec: { nodeName: name } }));
  }
  api.seed(Pods, testPod('high', { cpu: '600m', priority: 100 }));
};

for (const node of ['a', 'b'])
  test(`an extender decides that the pod on ${node} leaves`, async (t) => {
    const answer = { NodeNameToMetaVictims: { [node]: { Pods: [{ UID: `uid-low-${node}` }], NumPDBViolations: 0 } } };
    const run = await startScheduler(t, twoFull, { extenders: [preemptingExtender(answer)] });
    await run.clock.advance(5000);
    assert.equal(run.pod('high')?.spec?.nodeName, node);
    assert.deepEqual([run.pod('low-a') === undefined, run.pod('low-b') === undefined], [node === 'a', node === 'b']);
  });

test('an extender keeps all pods where they are', async (t) => {
  const run = await startScheduler(t, twoFull, { extenders: [preemptingExtender({ NodeNameToMetaVictims: {} })] });
  await run.clock.advance(5000);
  const message = run.pod('high')?.status?.conditions?.[0]?.message ?? '';
  assert.match(message, /preemption: no candidate node for preemption$/);
  assert.ok(run.pod('low-a') !== undefined && run.pod('low-b') !== undefined);
});

test('pods of other schedulers are let alone', async (t) => {
  const run = await startScheduler(t, (api) => {
    api.seed(Nodes, testNode('a'));
    api.seed(Pods, testPod('p', { spec: { schedulerName: 'mine' } }));
  });
  assert.deepEqual([run.bindings(), run.counts()], [[], idle]);
});

test("attempts, victims, queues and extension points are counted under upstream's names", async (t) => {
  const run = await startScheduler(t, (api) => {
    api.seed(Nodes, testNode('a', { cpu: '1' }));
    api.seed(Pods, testPod('low', { cpu: '600m', spec: { nodeName: 'a' } }));
    api.seed(Pods, testPod('high', { cpu: '600m', priority: 100 }));
    api.seed(Pods, testPod('never', { cpu: '5' }));
    api.seed(Pods, testPod('gated', { spec: { schedulingGates: [{ name: 'g' }] } }));
  });
  await run.clock.advance(5000);
  const profile = 'default-scheduler';
  const scheduled = { result: 'scheduled', profile };
  const counted = {
    scheduled: run.metrics.value('scheduler_schedule_attempts_total', scheduled),
    durations: run.metrics.value('scheduler_scheduling_attempt_duration_seconds', scheduled),
    needed: run.metrics.sum('scheduler_pod_scheduling_attempts'),
    victims: run.metrics.sum('scheduler_preemption_victims'),
    bind: run.metrics.value('scheduler_framework_extension_point_duration_seconds', {
      extension_point: 'Bind',
      status: 'Success',
      profile,
    }),
    new: run.metrics.value('scheduler_queue_incoming_pods_total', { queue: 'active', event: 'UnschedulablePodAdd' }),
    failed: run.metrics.value('scheduler_queue_incoming_pods_total', {
      queue: 'unschedulable',
      event: 'ScheduleAttemptFailure',
    }),
  };
  const { failed = 0, ...rest } = counted;
  assert.deepEqual(rest, { scheduled: 1, durations: 1, needed: 2, victims: 1, bind: 1, new: 2 });
  assert.ok(failed >= 2, `${failed} failures`);
  assert.match(await run.metrics.expose(), /^scheduler_pending_pods\{queue="unschedulable"\} 1$/m);
  assert.equal(run.metrics.value('scheduler_cache_size', { type: 'nodes' }), 1);
  for (const plugin of ['NodeResourcesFit', 'SchedulingGates'])
    assert.equal(run.metrics.value('scheduler_unschedulable_pods', { plugin, profile }), 1, plugin);
});

test('plugins are measured one by one in some cycles, not in all', async (t) => {
  const PODS = 60;
  const run = await startScheduler(t, (api) => {
    api.seed(Nodes, testNode('a', { cpu: '64' }));
    for (let i = 0; i < PODS; i++) api.seed(Pods, testPod(`p${i}`, { cpu: '10m' }));
    api.seed(Pods, testPod('large', { cpu: '99' }));
  });
  await run.clock.advance(200_000);
  const counted = (plugin: string, extension_point: string, status = 'Success'): number =>
    run.metrics.value('scheduler_plugin_execution_duration_seconds', { plugin, extension_point, status }) ?? 0;
  const points = ['PreFilter', 'Filter'];
  for (const point of points) {
    const count = counted('NodeResourcesFit', point);
    assert.ok(count > 0 && count < PODS, `${point}: ${count}`);
  }
  const bound = counted('DefaultBinder', 'Bind');
  assert.ok(bound > 0 && bound < PODS, `Bind: ${bound}`);
  assert.equal(run.metrics.sum('scheduler_pod_scheduling_attempts'), PODS, 'all are bound at once');
});
