import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { serviceUnavailable } from '../api/status-error.ts';
import { formatMicroTime, formatTime } from '../api/time.ts';
import { Leases, Nodes, Pods } from '../api/gen/resources.ts';
import type { Lease } from '../api/gen/coordination-v1.ts';
import type { Node, Pod, Toleration } from '../api/gen/core-v1.ts';
import { stored } from '../api/stored-fixture.ts';
import type { Stored } from '../api/object.ts';
import { createNodeIpamController } from './node-ipam/node-ipam-controller.ts';
import { createPodGarbageCollector, terminatedBeyond } from './pod-garbage-collector/pod-gc.ts';
import { createTaintEvictionController, toleratedMs } from './taint-eviction/taint-eviction-controller.ts';
import { startHarness, type Harness } from './controllers-fixture.ts';
import { createNodeLifecycleController } from './node-lifecycle/node-lifecycle-controller.ts';
import { zoneRates } from './node-lifecycle/zones.ts';

const readyNode = (name: string, ready = 'True'): Node => ({
  metadata: { name },
  status: {
    conditions: [
      {
        type: 'Ready',
        status: ready,
        lastHeartbeatTime: '2026-01-01T00:00:00Z',
        reason: 'KubeletReady',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ],
  },
});
const podOn = (name: string, node: string, tolerations?: Toleration[]): Stored<Pod> =>
  stored<Pod>({
    metadata: { namespace: 'default', name },
    spec: { nodeName: node, containers: [], ...(tolerations === undefined ? {} : { tolerations }) },
    status: {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }],
    },
  });
const lease = (name: string): Lease => ({
  metadata: { namespace: 'kube-node-lease', name },
  spec: { holderIdentity: name, renewTime: '2026-01-01T00:00:00.000000Z' },
});
const node = (h: Harness, name: string) => h.api.objects(Nodes).find((n) => n.metadata.name === name) as Node;
const taints = (h: Harness, name: string) =>
  (node(h, name).spec?.taints ?? []).map((t) => `${t.key.replace('node.kubernetes.io/', '')}:${t.effect}`).sort();
const renew = (h: Harness, name: string) =>
  h.api.modify<Lease>(Leases, `kube-node-lease/${name}`, (old) => ({
    ...old,
    spec: { ...old.spec, renewTime: formatMicroTime(h.clock.nowMs()) },
  }));

async function live(h: Harness, seconds: number, alive: string[]): Promise<void> {
  for (let i = 0; i < seconds; i += 10) {
    for (const name of alive) renew(h, name);
    await h.clock.advance(10_000);
  }
}

describe('node lifecycle', () => {
  it('marks a silent node Unknown after the grace period, taints it, writes events and evicts its pods; and reverts all of it', async () => {
    const h = startHarness([createNodeLifecycleController, createTaintEvictionController]);
    for (const name of ['n1', 'n2']) {
      h.api.seed(Nodes, readyNode(name));
      h.api.seed(Leases, lease(name));
    }
    h.api.seed(
      Pods,
      podOn('bears', 'n2', [
        { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
      ]),
    );
    h.api.seed(Pods, podOn('daemon', 'n2', [{ operator: 'Exists' }]));
    h.api.seed(Pods, podOn('plain', 'n2'));
    await live(h, 30, ['n1', 'n2']);
    assert.deepEqual(taints(h, 'n2'), []);
    await live(h, 40, ['n1']);
    assert.equal(node(h, 'n2').status?.conditions?.[0]?.status, 'True');
    await live(h, 20, ['n1']);
    const ready = node(h, 'n2').status?.conditions?.find((c) => c.type === 'Ready');
    assert.deepEqual(
      [ready?.status, ready?.reason, ready?.message],
      ['Unknown', 'NodeStatusUnknown', 'Kubelet stopped posting node status.'],
    );
    assert.deepEqual(taints(h, 'n2'), ['unreachable:NoExecute', 'unreachable:NoSchedule']);
    assert.deepEqual(taints(h, 'n1'), []);
    assert.deepEqual(
      h.pods().map((p) => [p.metadata.name, p.status?.conditions?.[0]?.status, p.status?.conditions?.[0]?.reason]),
      [
        ['bears', 'False', 'NodeNotReady'],
        ['daemon', 'False', 'NodeNotReady'],
      ],
    );
    await live(h, 310, ['n1']);
    assert.deepEqual(
      h.pods().map((p) => p.metadata.name),
      ['daemon'],
    );
    h.api.modify<Node>(Nodes, 'n2', (old) => ({
      ...old,
      status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: formatTime(h.clock.nowMs()) }] },
    }));
    await live(h, 10, ['n1', 'n2']);
    assert.deepEqual(taints(h, 'n2'), []);
    await h.stop();
  });

  it('reports new and removed nodes, also another machine of the same name', async () => {
    const h = startHarness([createNodeLifecycleController]);
    const told = (): string[] => h.events().filter((text) => /Regist|Remov/.test(text));
    h.api.seed(Nodes, readyNode('n1'));
    h.api.seed(Nodes, readyNode('n2'));
    await h.clock.advance(6000);
    assert.equal(told().length, 2, told().join());
    assert.match(told()[0] ?? '', /RegisteredNode.*Registered Node n1 in Controller/);
    await h.clock.advance(60_000);
    assert.equal(told().length, 2);
    h.api.remove(Nodes, 'n1');
    h.api.seed(Nodes, { ...readyNode('n1'), metadata: { name: 'n1', uid: 'another' } });
    h.api.remove(Nodes, 'n2');
    await h.clock.advance(6000);
    assert.deepEqual(
      told()
        .slice(2)
        .map((text) => /(Registered|Removing) Node n\d/.exec(text)?.[0]),
      ['Removing Node n1', 'Removing Node n2', 'Registered Node n1'],
    );
    await h.stop();
  });

  it('copies today’s labels to the labels of early releases', async () => {
    const h = startHarness([createNodeLifecycleController]);
    const labels = { 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'arm64', 'beta.kubernetes.io/arch': 'amd64' };
    h.api.seed(Nodes, { ...readyNode('n1'), metadata: { name: 'n1', labels } });
    h.api.seed(Nodes, readyNode('n2'));
    await h.clock.advance(1000);
    assert.deepEqual(node(h, 'n1').metadata.labels, {
      ...labels,
      'beta.kubernetes.io/os': 'linux',
      'beta.kubernetes.io/arch': 'arm64',
    });
    assert.equal(node(h, 'n2').metadata.labels, undefined);
    await h.stop();
  });

  it('counts an eviction once its taint is written', async () => {
    const h = startHarness([createNodeLifecycleController]);
    for (const name of ['n1', 'n2']) {
      h.api.seed(Nodes, readyNode(name));
      h.api.seed(Leases, lease(name));
    }
    let refused = 0;
    h.api.intercept = ({ method, path, body }) => {
      if (method !== 'PATCH' || !path.endsWith('/nodes/n2') || !JSON.stringify(body).includes('NoExecute')) return;
      refused++;
      throw serviceUnavailable('the store is away');
    };
    const told = async () =>
      [...(await h.metrics.expose()).matchAll(/^node_collector_evictions_total\S* (\d+)$/gm)].map(([, n]) => n);
    await live(h, 150, ['n1']);
    assert.ok(refused > 1);
    assert.deepEqual(await told(), []);
    h.api.intercept = undefined;
    await live(h, 60, ['n1']);
    assert.ok(taints(h, 'n2').includes('unreachable:NoExecute'));
    assert.deepEqual(await told(), ['1']);
    await h.stop();
  });

  it('evicts no pod when every node is silent', async () => {
    const h = startHarness([createNodeLifecycleController, createTaintEvictionController]);
    h.api.seed(Nodes, readyNode('n1'));
    h.api.seed(Pods, podOn('p', 'n1'));
    await h.clock.advance(300_000);
    assert.deepEqual(taints(h, 'n1'), ['unreachable:NoSchedule']);
    assert.equal(h.pods().length, 1);
    await h.stop();
  });

  it('is not misled by clocks: an old heartbeat time that keeps changing is alive', async () => {
    const h = startHarness([createNodeLifecycleController]);
    h.api.seed(Nodes, readyNode('n1'));
    h.api.seed(Leases, lease('n1'));
    for (let i = 0; i < 20; i++) {
      h.api.modify<Lease>(Leases, 'kube-node-lease/n1', (old) => ({
        ...old,
        spec: { ...old.spec, renewTime: `2001-01-01T00:00:${String(i + 10)}.000000Z` },
      }));
      await h.clock.advance(10_000);
    }
    assert.equal(node(h, 'n1').status?.conditions?.[0]?.status, 'True');
    await h.stop();
  });

  it('taints by conditions and cordon, and leaves foreign taints', async () => {
    const h = startHarness([createNodeLifecycleController]);
    h.api.seed(Nodes, {
      metadata: { name: 'n1' },
      spec: { unschedulable: true, taints: [{ key: 'mine', effect: 'NoSchedule' }] },
      status: {
        conditions: [
          { type: 'Ready', status: 'False' },
          { type: 'DiskPressure', status: 'True' },
        ],
      },
    });
    await h.clock.advance(1000);
    assert.deepEqual(taints(h, 'n1'), [
      'disk-pressure:NoSchedule',
      'mine:NoSchedule',
      'not-ready:NoSchedule',
      'unschedulable:NoSchedule',
    ]);
    h.api.modify<Node>(Nodes, 'n1', (old) => ({
      ...old,
      spec: { taints: old.spec?.taints ?? [] },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    }));
    await h.clock.advance(100);
    assert.deepEqual(taints(h, 'n1'), ['mine:NoSchedule']);
    await h.stop();
  });

  const zone = (count: number, down: number): Node[] =>
    Array.from({ length: count }, (_, i) => readyNode(`n${i}`, i < down ? 'Unknown' : 'True'));
  for (const [name, nodes, rate] of [
    ['healthy', zone(10, 2), 0.1],
    ['small and disrupted', zone(10, 6), 0],
    ['large and disrupted', zone(60, 40), 0.01],
    ['all down', zone(10, 10), 0],
  ] as const) {
    it(`eviction rate of a zone: ${name}`, () => assert.equal(zoneRates(nodes).rates.get(''), rate));
  }

  it('tolerations: the shortest limit counts, every taint must be borne', () => {
    const taint = (key: string) => ({ key, effect: 'NoExecute' });
    const bears = (key: string, tolerationSeconds?: number): Toleration => ({
      key,
      operator: 'Exists',
      effect: 'NoExecute',
      ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
    });
    assert.equal(toleratedMs([taint('a')], []), 0);
    assert.equal(toleratedMs([taint('a'), taint('b')], [bears('a')]), 0);
    assert.equal(toleratedMs([taint('a'), taint('b')], [bears('a', 30), bears('b', 10)]), 10_000);
    assert.equal(toleratedMs([taint('a')], [bears('a')]), Number.POSITIVE_INFINITY);
  });
});

describe('node ipam', () => {
  const config = { clusterCidrs: ['10.42.0.0/22'], serviceCidrs: ['10.42.1.0/24'] };
  it('allocates a range per node, never twice, never one of services, and reuses released ones', async () => {
    const h = startHarness([createNodeIpamController], {
      config,
      before: (api) =>
        void api.seed(Nodes, {
          metadata: { name: 'old' },
          spec: { podCIDR: '10.42.0.0/24', podCIDRs: ['10.42.0.0/24'] },
        }),
    });
    h.api.seed(Nodes, { metadata: { name: 'a' } });
    h.api.seed(Nodes, { metadata: { name: 'b' } });
    h.api.seed(Nodes, { metadata: { name: 'c' } });
    await h.clock.advance(100);
    const cidr = (name: string) => node(h, name).spec?.podCIDR;
    assert.deepEqual([cidr('a'), cidr('b'), cidr('c')], ['10.42.2.0/24', '10.42.3.0/24', undefined]);
    assert.ok(
      h.events().some((text) => text.includes('CIDRNotAvailable')),
      h.events().join(),
    );
    h.api.remove(Nodes, 'old');
    await h.clock.advance(60_000);
    assert.equal(cidr('c'), '10.42.0.0/24');
    await h.stop();
  });
});

describe('pod garbage collector', () => {
  it('removes pods of vanished nodes after the quarantine, and terminating ones never scheduled', async () => {
    const h = startHarness([createPodGarbageCollector]);
    h.api.seed(Nodes, readyNode('n1'));
    h.api.seed(Pods, podOn('stays', 'n1'));
    h.api.seed(Pods, podOn('orphan', 'gone'));
    const unscheduled = podOn('unscheduled', '');
    h.api.seed(Pods, {
      ...unscheduled,
      metadata: { ...unscheduled.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    });
    await h.clock.advance(21_000);
    const names = () =>
      h.api
        .objects(Pods)
        .map((p) => p.metadata.name)
        .sort();
    assert.deepEqual(names(), ['orphan', 'stays']);
    h.api.intercept = ({ method, path }) => {
      if (method === 'DELETE' && path.endsWith('/orphan')) throw serviceUnavailable('the store is away');
    };
    const told = (name: string) =>
      h.metrics.value(`pod_gc_collector_force_delete_${name}_total`, { namespace: 'default', reason: 'orphaned' });
    await h.clock.advance(40_000);
    assert.ok((told('pods') ?? 0) > 0, 'attempts count');
    assert.equal(told('pod_errors'), told('pods'));
    h.api.intercept = undefined;
    await h.clock.advance(20_000);
    assert.deepEqual(names(), ['stays']);
    const patch = h.api.requests.find((r) => r.method === 'PATCH' && r.path.endsWith('/orphan/status'))?.body as {
      status: { phase: string; conditions: { reason: string }[] };
    };
    assert.deepEqual([patch.status.phase, patch.status.conditions.at(-1)?.reason], ['Failed', 'DeletionByPodGC']);
    await h.stop();
  });

  it('keeps a number of finished pods: evicted go first, then the oldest', () => {
    const finished = (name: string, second: number, reason?: string): Stored<Pod> =>
      stored<Pod>({
        metadata: { name, creationTimestamp: `2026-01-01T00:00:0${second}Z` },
        status: { phase: 'Failed', ...(reason === undefined ? {} : { reason }) },
      });
    const pods = [finished('new', 3), finished('old', 1), finished('evicted', 4, 'Evicted'), podOn('runs', 'n')];
    assert.deepEqual(
      terminatedBeyond(pods, 1).map((p) => p.metadata.name),
      ['evicted', 'old'],
    );
    assert.deepEqual(terminatedBeyond(pods, 0), []);
  });
});
