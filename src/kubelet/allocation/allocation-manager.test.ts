/** In-place resize: allocated, deferred and refused resources, the checkpoint, and the conditions of the pod. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import { createSimPlatform, type SimPlatform } from '../../platform/sim/sim-platform.ts';
import type { ContainerStatus, PodStatus as RuntimePodStatus } from '../container/runtime.ts';
import { createAllocationManager } from './allocation-manager.ts';
import { createAllocationState } from './allocation-state.ts';
import { changedResources, type ContainerResources } from './resources.ts';

const node = { metadata: { name: 'n' }, status: { allocatable: { cpu: '4', memory: '8Gi' } } } as Node;

function pod(name: string, cpu: string, memory = '1Gi'): Pod {
  return {
    metadata: { name, namespace: 'default', uid: name, generation: 2 },
    spec: {
      containers: [{ name: 'app', image: 'i', resources: { requests: { cpu, memory, 'example.com/gpu': '1' } } }],
    },
  };
}

function running(madeWith: ContainerResources | undefined): RuntimePodStatus {
  const status = { id: 'c1', name: 'app', state: 'running', ...(madeWith === undefined ? {} : { madeWith }) };
  return {
    uid: 'a',
    name: 'a',
    namespace: 'default',
    ips: [],
    sandboxes: [],
    containers: [status as ContainerStatus],
  };
}

function setUp(others: readonly Pod[] = [], platform: SimPlatform = createSimPlatform()) {
  const events: string[] = [];
  const messages: string[] = [];
  const state = createAllocationState({ files: platform.files, log: platform.log }, '/state');
  const manager = createAllocationManager({
    state,
    recorder: {
      event(_target, type, reason, message) {
        events.push(`${type} ${reason}`);
        messages.push(message);
      },
    },
    node: () => node,
    activePods: () => others,
  });
  const cpuOf = (of: Pod): string | undefined => of.spec?.containers[0]?.resources?.requests?.['cpu'];
  const drive = <T>(work: Promise<T>): Promise<T> => platform.clock.drive(work);
  const told = (of: Pod, seen: RuntimePodStatus) =>
    manager.conditions(of, seen).map(({ type, reason }) => [type, reason]);
  return { platform, manager, state, events, messages, drive, cpuOf, told };
}

const ONE = { requests: { cpu: '1', memory: '1Gi' } };

describe('in-place resize', () => {
  it('leaves a pod that requests its allocated resources unchanged', async () => {
    const t = setUp();
    const given = pod('a', '1');
    assert.equal(await t.drive(t.manager.resolve(given, running(ONE))), given);
    assert.deepEqual([t.events, t.told(given, running(ONE))], [[], []]);
  });

  it('allocates resources that fit, and reports the resize until it is done', async () => {
    const t = setUp([pod('b', '2')]);
    const wanted = pod('a', '2');
    const resolved = await t.drive(t.manager.resolve(wanted, running(ONE)));
    assert.equal(t.cpuOf(resolved), '2');
    assert.deepEqual(t.told(wanted, running(ONE)), [['PodResizeInProgress', undefined]]);
    await t.drive(t.manager.setActuated('a', 'c1', resolved.spec!.containers[0]!.resources!));
    assert.deepEqual(t.told(wanted, running(ONE)), []);
    assert.deepEqual(t.events, ['Normal ResizeStarted', 'Normal ResizeCompleted']);
  });

  const refused: readonly [string, readonly Pod[], string, readonly string[]][] = [
    ['what fits only without others', [pod('b', '3')], '2', ['PodResizePending', 'Deferred']],
    ['what never fits', [], '5', ['PodResizePending', 'Infeasible']],
  ];
  for (const [name, others, cpu, condition] of refused) {
    it(`keeps the allocated resources for ${name}`, async () => {
      const t = setUp(others);
      const wanted = pod('a', cpu);
      const resolved = await t.drive(t.manager.resolve(wanted, running(ONE)));
      assert.equal(t.cpuOf(resolved), '1');
      assert.equal(resolved.spec?.containers[0]?.resources?.requests?.['example.com/gpu'], '1', 'others stay');
      assert.deepEqual(t.told(resolved, running(ONE)), [condition]);
      assert.equal(t.cpuOf(t.manager.allocatedPod(wanted)), '1', 'others count what it has');
      assert.equal(t.manager.isDeferred('a'), condition[1] === 'Deferred');
      await t.drive(t.manager.resolve(wanted, running(ONE)));
      assert.deepEqual(t.events, [`Warning Resize${condition[1]}`], 'told once');
    });
  }

  it('resumes a deferred resize when there is room', async () => {
    const others = [pod('b', '3')];
    const t = setUp(others);
    const wanted = pod('a', '2');
    await t.drive(t.manager.resolve(wanted, running(ONE)));
    others.pop();
    assert.equal(t.cpuOf(await t.drive(t.manager.resolve(wanted, running(ONE)))), '2');
    assert.deepEqual(t.told(wanted, running(ONE)), [['PodResizeInProgress', undefined]]);
  });

  it('reports a failure, and clears it', async () => {
    const t = setUp();
    t.manager.setResizeFailure(pod('a', '1'), 'device or resource busy');
    assert.deepEqual(t.told(pod('a', '1'), running(ONE)), [['PodResizeInProgress', 'Error']]);
    t.manager.setResizeFailure(pod('a', '1'), undefined);
    assert.deepEqual(t.told(pod('a', '1'), running(ONE)), []);
  });

  it('names in its events the request, the kind of container, and the error', async () => {
    const t = setUp();
    const { metadata, spec } = pod('a', '5');
    const wanted = { metadata, spec: { ...spec!, initContainers: [{ name: 'first', image: 'i' }] } };
    await t.drive(t.manager.resolve(wanted, running(ONE)));
    t.manager.setResizeFailure(wanted, 'busy');
    const summary =
      '"initContainers":[{"name":"first","resources":{}}],"containers":[{"name":"app","resources":{"requests":{"cpu":"5","memory":"1Gi"}}}],"generation":2';
    const why = "Node didn't have enough capacity: cpu, requested: 5000, capacity: 4000";
    assert.deepEqual(t.messages, [
      `Pod resize Infeasible: {${summary},"error":"${why}"}`,
      `Pod resize error: {${summary},"error":"busy"}`,
    ]);
  });

  it('remembers over a restart, and forgets with the pod', async () => {
    const first = setUp();
    await first.drive(first.manager.resolve(pod('a', '2'), running(ONE)));
    await first.drive(first.manager.setActuated('a', 'c1', { requests: { cpu: '2' } }));
    const second = setUp([], first.platform);
    await second.drive(second.state.load());
    assert.deepEqual(second.manager.actuated(running(ONE).containers[0]!), { requests: { cpu: '2' } });
    assert.equal(second.cpuOf(second.manager.allocatedPod(pod('a', '3'))), '2');
    await second.drive(second.manager.forget('a'));
    const third = setUp([], first.platform);
    await third.drive(third.state.load());
    assert.deepEqual(third.manager.actuated(running(ONE).containers[0]!), ONE);
  });

  describe('of a pod as a whole', () => {
    const whole = (cpu: string | undefined, memory = '2Gi', limits?: Record<string, string>): Pod => {
      const own = pod('a', '1');
      const resources =
        cpu === undefined ? {} : { resources: { requests: { cpu, memory }, ...(limits && { limits }) } };
      return { ...own, spec: { ...own.spec!, ...resources } };
    };
    const cpuOfPod = (of: Pod): string | undefined => of.spec?.resources?.requests?.['cpu'];

    it('keeps its resources from the first sync on, and allocates those that fit', async () => {
      const t = setUp([pod('b', '1')]);
      await t.drive(t.manager.resolve(whole('2'), { ...running(ONE), containers: [] }));
      assert.deepEqual(t.told(whole('2'), running(ONE)), []);
      const resolved = await t.drive(t.manager.resolve(whole('3'), running(ONE)));
      assert.equal(cpuOfPod(resolved), '3');
      assert.deepEqual(t.told(whole('3'), running(ONE)), [['PodResizeInProgress', undefined]]);
      assert.deepEqual(t.manager.actuatedPod('a'), { requests: { cpu: '2', memory: '2Gi' } });
      await t.drive(t.manager.setActuatedPod('a', resolved.spec!.resources!));
      assert.deepEqual(t.told(whole('3'), running(ONE)), []);
      assert.deepEqual(t.events, ['Normal ResizeStarted', 'Normal ResizeCompleted']);
    });

    it('defers resources that do not fit, which do not count for others, also after a restart', async () => {
      const others = [pod('b', '1')];
      const first = setUp(others);
      await first.drive(first.manager.resolve(whole('2'), { ...running(ONE), containers: [] }));
      const kept = await first.drive(first.manager.resolve(whole('4'), running(ONE)));
      assert.equal(cpuOfPod(kept), '2');
      assert.deepEqual(first.told(whole('4'), running(ONE)), [['PodResizePending', 'Deferred']]);
      const second = setUp(others, first.platform);
      await second.drive(second.state.load());
      assert.equal(cpuOfPod(second.manager.allocatedPod(whole('4'))), '2');
      others.pop();
      assert.equal(cpuOfPod(await second.drive(second.manager.resolve(whole('4'), running(ONE)))), '4');
    });

    it('reports the first resources of a running pod that had none', async () => {
      const t = setUp([pod('b', '2')]);
      await t.drive(t.manager.resolve(whole(undefined), running(ONE)));
      const wanted = whole('4');
      const kept = await t.drive(t.manager.resolve(wanted, running(ONE)));
      assert.equal(kept.spec?.resources, undefined);
      assert.deepEqual(t.told(wanted, running(ONE)), [['PodResizePending', 'Deferred']]);
      assert.equal(cpuOfPod(await t.drive(t.manager.resolve(whole('2'), running(ONE)))), '2');
      assert.deepEqual(t.manager.actuatedPod('a'), {});
      assert.deepEqual(t.told(whole('2'), running(ONE)), [['PodResizeInProgress', undefined]]);
    });

    it('is no resize of a pod that was running when nothing was kept, or the memory was lost', async () => {
      for (const limits of [undefined, { memory: '2Gi' }]) {
        const t = setUp([pod('b', '3')]);
        const given = whole('2', '2Gi', limits);
        const bound = running({ ...ONE, ...(limits && { limits }) });
        assert.equal(await t.drive(t.manager.resolve(given, bound)), given);
        assert.deepEqual([t.events, t.told(given, bound)], [[], []]);
        assert.deepEqual(t.manager.actuatedPod('a')?.requests, { cpu: '2', memory: '2Gi' });
        assert.equal(t.manager.isResizeComplete('a'), false, 'its cgroup is made sure of');
      }
    });

    it('reads its resources from its containers where there is no checkpoint', async () => {
      const had = running({ ...ONE, limits: { memory: '2Gi' } });
      const t = setUp([pod('b', '3')]);
      const wanted = whole('2', '3Gi', { memory: '3Gi' });
      const kept = await t.drive(t.manager.resolve(wanted, had));
      const before = { requests: { cpu: '2', memory: '2Gi' }, limits: { memory: '2Gi' } };
      assert.deepEqual(kept.spec?.resources, before);
      assert.deepEqual(t.told(wanted, had), [['PodResizePending', 'Deferred']]);
      assert.deepEqual(t.manager.actuatedPod('a'), before);
      const free = setUp();
      assert.equal(await free.drive(free.manager.resolve(wanted, running(ONE))), wanted);
      assert.deepEqual(free.manager.actuatedPod('a'), {}, 'without a limit it began without');
    });

    it('resizes containers that have no limit of their own', async () => {
      const t = setUp();
      const before = whole('2', '2Gi', { memory: '2Gi' });
      await t.drive(t.manager.resolve(before, { ...running(ONE), containers: [] }));
      const bound = { ...ONE, limits: { memory: '2Gi' } };
      assert.deepEqual(t.told(before, running(bound)), []);
      const after = whole('2', '2Gi', { memory: '3Gi' });
      await t.drive(t.manager.resolve(after, running(bound)));
      await t.drive(t.manager.setActuatedPod('a', after.spec!.resources!));
      assert.deepEqual(t.told(after, running(bound)), [['PodResizeInProgress', undefined]]);
      assert.deepEqual(t.told(after, running({ ...ONE, limits: { memory: '3Gi' } })), []);
    });

    it('reports why memory cannot be changed', async () => {
      const platform = createSimPlatform();
      const manager = createAllocationManager({
        state: createAllocationState({ files: platform.files, log: platform.log }, '/state'),
        recorder: { event: () => undefined },
        node: () => node,
        activePods: () => [],
        memoryInfeasible: 'no',
      });
      await platform.clock.drive(manager.resolve(whole('2', '2Gi'), { ...running(ONE), containers: [] }));
      await platform.clock.drive(manager.resolve(whole('2', '3Gi'), running(ONE)));
      assert.deepEqual(
        manager.conditions(whole('2', '3Gi'), running(ONE)).map(({ reason, message }) => [reason, message]),
        [['Infeasible', 'no']],
      );
    });
  });

  it('changes no containers whose actual resources are unknown', async () => {
    const t = setUp();
    const wanted = pod('a', '2');
    assert.equal(await t.drive(t.manager.resolve(wanted, running(undefined))), wanted);
    assert.deepEqual(t.told(wanted, running(undefined)), []);
  });

  it('compares amounts, not texts', () => {
    assert.deepEqual(changedResources({ requests: { cpu: '1000m' } }, { requests: { cpu: '1' } }), []);
    assert.deepEqual(changedResources({ limits: { memory: '1Gi' } }, {}), ['memory']);
  });
});
