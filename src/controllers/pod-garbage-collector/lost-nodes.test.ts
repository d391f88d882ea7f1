/** Pods of nodes that are deleted or out of service, in a real server. Upstream: test/integration/podgc. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Nodes, Pods } from '../../api/gen/resources.ts';
import type { Pod, PodSpec } from '../../api/gen/core-v1.ts';
import { createPodGarbageCollector } from './pod-gc.ts';
import { startServerHarness, type ServerHarness } from '../server-harness-fixture.ts';

const HOLD = 'test/hold';
const OUT_OF_SERVICE = { key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' } as const;

/** A pod on node `n`, which something holds. */
async function podOnNode(h: ServerHarness, phase: string, spec: Partial<PodSpec> = {}): Promise<void> {
  await h.addNode('n');
  await h.create(Pods, {
    metadata: { name: 'p', finalizers: [HOLD] },
    spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }], ...spec },
  });
  await h.update<Pod>(Pods, 'default/p', (draft) => void (draft.status = { ...draft.status, phase }), 'status');
}
const target = ({ status }: Pod): (string | undefined)[] => {
  const condition = status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
  return [status?.phase, condition?.reason, condition?.message];
};
const start = (): Promise<ServerHarness> => startServerHarness([createPodGarbageCollector]);
const letGo = async (h: ServerHarness): Promise<string[]> => {
  await h.update<Pod>(Pods, 'default/p', (draft) => void (draft.metadata.finalizers = []));
  return (await h.list(Pods)).map(({ metadata }) => metadata.name ?? '');
};

describe('a pod of a deleted node', () => {
  const gone = ['DeletionByPodGC', 'PodGC: node no longer exists'];
  const cases: [phase: string, told: (string | undefined)[]][] = [
    ['Pending', ['Failed', ...gone]],
    ['Running', ['Failed', ...gone]],
    ['Succeeded', ['Succeeded', undefined, undefined]],
    ['Failed', ['Failed', undefined, undefined]],
  ];
  for (const [phase, told] of cases)
    it(`and was ${phase} is ${told[0]}, and deleted, although it has a finalizer`, async () => {
      const h = await start();
      await podOnNode(h, phase);
      await h.remove(Nodes, 'n');
      await h.clock.advance(90_000);
      const pod = await h.get<Pod>(Pods, 'default/p');
      assert.notEqual(pod.metadata.deletionTimestamp, undefined);
      assert.deepEqual(target(pod), told);
      assert.deepEqual(await letGo(h), []);
      await h.stop();
    });

  it('is found out about whatever its spec repeats', async () => {
    const h = await start();
    const twice = (name: string): object[] => [
      { name, value: '1' },
      { name, value: '2' },
    ];
    const port = { containerPort: 80, protocol: 'TCP' };
    await podOnNode(h, 'Running', {
      containers: [{ name: 'c', image: 'i', env: twice('A') as never, ports: [port, { ...port, hostPort: 0 }] }],
      tolerations: [{ operator: 'Exists' }, { operator: 'Exists' }],
    });
    await h.remove(Nodes, 'n');
    await h.clock.advance(90_000);
    assert.deepEqual(target(await h.get<Pod>(Pods, 'default/p')), ['Failed', ...gone]);
    await h.stop();
  });
});

describe('a pod that is to leave a node', () => {
  const cases: [what: string, ready: string, taints: (typeof OUT_OF_SERVICE)[], phase: string][] = [
    ['that is out of service and silent has failed', 'Unknown', [OUT_OF_SERVICE], 'Failed'],
    ['that is out of service and still there is the kubelet’s', 'True', [OUT_OF_SERVICE], 'Running'],
    ['that is silent only may come back', 'Unknown', [], 'Running'],
  ];
  for (const [what, ready, taints, phase] of cases)
    it(what, async () => {
      const h = await start();
      await podOnNode(h, 'Running');
      await h.clock.drive(
        h.admin.resource(Pods).delete({ namespace: 'default', name: 'p' }, { gracePeriodSeconds: 300 }),
      );
      await h.update(Nodes, 'n', (draft) => void (draft.spec = { ...draft.spec, taints: [...taints] }));
      const conditions = [{ type: 'Ready', status: ready }];
      await h.update(Nodes, 'n', (draft) => void (draft.status = { ...draft.status, conditions }), 'status');
      await h.clock.advance(45_000);
      const pod = await h.get<Pod>(Pods, 'default/p');
      assert.deepEqual(target(pod), [phase, undefined, undefined]);
      assert.equal(pod.metadata.deletionGracePeriodSeconds, phase === 'Failed' ? 0 : 300);
      await h.stop();
    });
});
