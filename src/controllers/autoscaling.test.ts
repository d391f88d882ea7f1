import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Deployments, HorizontalPodAutoscalers, Pods, Services } from '../api/gen/resources.ts';
import type { HorizontalPodAutoscaler } from '../api/gen/autoscaling-v2.ts';
import type { Deployment } from '../api/gen/apps-v1.ts';
import { formatTime } from '../api/time.ts';
import type { Client } from '../client/client.ts';
import { createDeploymentController } from './deployment/deployment-controller.ts';
import type { Controller, ControllerDeps } from './controller.ts';
import { createHorizontalPodAutoscalerController } from './horizontal-pod-autoscaler/hpa-controller.ts';
import { replicaSetFlavour } from './replicaset/flavours.ts';
import { createReplicaController } from './replicaset/replicaset-controller.ts';
import { startServerHarness, type ServerHarness } from './server-harness-fixture.ts';

/** The responses of the metrics APIs: CPU use per pod and in one container of each, external series, and custom metrics. */
interface Metrics {
  cpu?: string;
  /** The CPU of a second container, `side`. */
  side?: string;
  external?: string[];
  /** The custom metric's value of each pod. */
  perPod?: string;
  /** The custom metric's value of the service `s`. */
  ofService?: string;
}

/** A client whose server also serves the metrics APIs, for the existing pods. */
function withMetrics(deps: ControllerDeps, metrics: Metrics, names: () => Promise<string[]>): ControllerDeps {
  const answer = async (path: string): Promise<object | undefined> => {
    const timestamp = formatTime(deps.platform.clock.nowMs());
    if (path.startsWith('/apis/metrics.k8s.io/v1beta1/namespaces/default/pods?labelSelector=app%3Dx')) {
      const { cpu } = metrics;
      if (cpu === undefined) return undefined;
      const item = (name: string) => ({
        metadata: { name },
        timestamp,
        window: '15s',
        containers: [
          { name: 'c', usage: { cpu } },
          ...(metrics.side === undefined ? [] : [{ name: 'side', usage: { cpu: metrics.side } }]),
        ],
      });
      return { items: (await names()).map(item) };
    }
    if (path.startsWith('/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue?labelSelector=q%3Da'))
      return { items: (metrics.external ?? []).map((value) => ({ value, timestamp })) };
    const custom = '/apis/custom.metrics.k8s.io/v1beta2/namespaces/default';
    if (path === `${custom}/pods/*/rps?labelSelector=app%3Dx` && metrics.perPod !== undefined) {
      const value = metrics.perPod;
      return { items: (await names()).map((name) => ({ describedObject: { name }, value, timestamp })) };
    }
    if (path === `${custom}/services/s/hits?metricLabelSelector=verb%3DGET`)
      return { items: metrics.ofService === undefined ? [] : [{ value: metrics.ofService, timestamp }] };
    return undefined;
  };
  const clientFor = (account: string): Client => {
    const client = deps.clientFor(account);
    return {
      ...client,
      resource: (info) => client.resource(info),
      upgrade: (request) => client.upgrade(request),
      async raw(request) {
        const body = await answer(request.path);
        return body === undefined
          ? await client.raw(request)
          : { status: 200, body: Buffer.from(JSON.stringify(body)) };
      },
    };
  };
  return { ...deps, clientFor };
}

async function start(metrics: Metrics): Promise<ServerHarness> {
  const running: ServerHarness[] = [];
  const names = async (): Promise<string[]> => {
    const found = await running[0]?.admin.resource(Pods).list();
    return (found?.items ?? []).map((pod) => pod.metadata.name);
  };
  const hpa = (deps: ControllerDeps): Controller =>
    createHorizontalPodAutoscalerController(withMetrics(deps, metrics, names));
  const harness = await startServerHarness([
    createDeploymentController,
    (deps) => createReplicaController(deps, replicaSetFlavour),
    hpa,
  ]);
  running.push(harness);
  const template = {
    metadata: { labels: { app: 'x' } },
    spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '100m' } } }] },
  };
  await harness.create(Deployments, {
    metadata: { name: 'd' },
    spec: { replicas: 2, selector: { matchLabels: { app: 'x' } }, template },
  });
  await harness.run(360_000, { stepMs: 30_000 });
  return harness;
}

const autoscale = (h: ServerHarness, metrics: object[], more: object = {}): Promise<unknown> =>
  h.create(HorizontalPodAutoscalers, {
    metadata: { name: 'a' },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
      minReplicas: 2,
      maxReplicas: 10,
      metrics,
      ...more,
    },
  });
const cpu = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } };
const sizeOf = async (h: ServerHarness): Promise<number | undefined> =>
  ((await h.get(Deployments, 'default/d')) as Deployment).spec?.replicas;
const conditions = async (h: ServerHarness): Promise<Record<string, string>> => {
  const hpa: HorizontalPodAutoscaler = await h.get(HorizontalPodAutoscalers, 'default/a');
  return Object.fromEntries((hpa.status?.conditions ?? []).map((c) => [c.type, `${c.status} ${c.reason}`]));
};

describe('horizontal pod autoscaler', () => {
  it('grows with the use, in steps, and shrinks when the window is over', async () => {
    const metrics: Metrics = { cpu: '200m' };
    const h = await start(metrics);
    await autoscale(h, [cpu]);
    await h.run(2000);
    assert.equal(await sizeOf(h), 4);
    const { status } = await h.get(HorizontalPodAutoscalers, 'default/a');
    assert.deepEqual(status?.currentMetrics, [
      { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 200, averageValue: '200m' } } },
    ]);
    assert.equal(status?.desiredReplicas, 4);
    assert.equal((await conditions(h))['ScalingLimited'], 'True ScaleUpLimit');
    metrics.cpu = '10m';
    await h.run(60_000, { stepMs: 5000 });
    assert.ok((await sizeOf(h))! >= 4, 'the highest wish of the window counts');
    await h.run(420_000, { stepMs: 15_000 });
    assert.equal(await sizeOf(h), 2);
    const told = async (): Promise<string[]> =>
      (await h.metrics.expose())
        .split('\n')
        .filter((line) => /^horizontal_pod_autoscaler_controller_(desired|num)_/.test(line));
    assert.deepEqual((await told()).toSorted(), [
      'horizontal_pod_autoscaler_controller_desired_replicas{namespace="default",hpa_name="a"} 2',
      'horizontal_pod_autoscaler_controller_num_horizontal_pod_autoscalers 1',
    ]);
    assert.equal((await conditions(h))['ScalingActive'], 'True ValidMetricFound');
    const events = await h.events();
    assert.ok(
      events.includes(
        'Normal SuccessfulRescale New size: 4; reason: cpu resource utilization (percentage of request) above target',
      ),
      events.join('\n'),
    );
    assert.ok(events.some((event) => /New size: 2; reason: All metrics below target/.test(event)));
    await h.remove(HorizontalPodAutoscalers, 'default/a');
    await h.run(1000);
    assert.deepEqual(await told(), ['horizontal_pod_autoscaler_controller_num_horizontal_pod_autoscalers 0']);
    await h.stop();
  });

  it('reports missing metrics, and does not scale the target', async () => {
    const h = await start({});
    await autoscale(h, [cpu]);
    await h.run(16_000, { stepMs: 1000 });
    assert.equal(await sizeOf(h), 2);
    assert.equal((await conditions(h))['ScalingActive'], 'False FailedGetResourceMetric');
    const events = await h.events();
    assert.ok(
      events.some((event) =>
        event.startsWith(
          'Warning FailedComputeMetricsReplicas invalid metrics (1 invalid out of 1), first error is: failed to get resource metric value: ',
        ),
      ),
    );
    await h.stop();
  });

  it('uses the largest of several metrics; a missing one prevents scaling down', async () => {
    const metrics: Metrics = { external: ['3', '5'] };
    const h = await start(metrics);
    const external = {
      type: 'External',
      external: {
        metric: { name: 'queue', selector: { matchLabels: { q: 'a' } } },
        target: { type: 'AverageValue', averageValue: '2' },
      },
    };
    await autoscale(h, [cpu, external]);
    await h.run(16_000, { stepMs: 1000 });
    assert.equal(await sizeOf(h), 4);
    metrics.external = ['1'];
    await h.run(600_000, { stepMs: 15_000 });
    assert.equal(await sizeOf(h), 4);
    await h.stop();
  });

  const service = { apiVersion: 'v1', kind: 'Service', name: 's' };
  const hits = { name: 'hits', selector: { matchLabels: { verb: 'GET' } } };
  const ofC = { name: 'cpu', container: 'c' };
  const kinds: [what: string, answers: Metrics, metric: object, size: number, current: object, reason: RegExp][] = [
    [
      'a metric of each pod',
      { perPod: '30' },
      { type: 'Pods', pods: { metric: { name: 'rps' }, target: { type: 'AverageValue', averageValue: '20' } } },
      3,
      { type: 'Pods', pods: { metric: { name: 'rps' }, current: { averageValue: '30' } } },
      /New size: 3; reason: pods metric rps above target/,
    ],
    [
      'a metric of an object',
      { ofService: '15' },
      { type: 'Object', object: { describedObject: service, metric: hits, target: { type: 'Value', value: '10' } } },
      3,
      { type: 'Object', object: { metric: hits, describedObject: service, current: { value: '15' } } },
      /New size: 3; reason: Service metric hits above target/,
    ],
    [
      'one container, whatever the other takes',
      { cpu: '75m', side: '900m' },
      { type: 'ContainerResource', containerResource: { ...ofC, target: cpu.resource.target } },
      3,
      {
        type: 'ContainerResource',
        containerResource: { ...ofC, current: { averageUtilization: 75, averageValue: '75m' } },
      },
      /New size: 3; reason: cpu resource utilization \(percentage of request\) above target/,
    ],
  ];
  const queue = { name: 'queue', selector: { matchLabels: { q: 'a' } } };
  kinds.push(
    [
      'the sum of an external metric',
      { external: ['7', '8'] },
      { type: 'External', external: { metric: queue, target: { type: 'Value', value: '10' } } },
      3,
      { type: 'External', external: { metric: queue, current: { value: '15' } } },
      /New size: 3; reason: external metric queue\(q=a\) above target/,
    ],
    [
      'what each replica has of a metric of an object',
      { ofService: '15' },
      {
        type: 'Object',
        object: { describedObject: service, metric: hits, target: { type: 'AverageValue', averageValue: '5' } },
      },
      3,
      { type: 'Object', object: { metric: hits, describedObject: service, current: { averageValue: '7500m' } } },
      /New size: 3; reason: Service metric hits above target/,
    ],
  );
  for (const [what, answers, metric, size, current, reason] of kinds)
    it(`follows ${what}`, async () => {
      const h = await start(answers);
      await h.create(Services, { metadata: { name: 's' }, spec: { ports: [{ port: 80 }] } });
      await autoscale(h, [metric]);
      await h.run(2000);
      assert.equal(await sizeOf(h), size, JSON.stringify(await conditions(h)));
      assert.deepEqual((await h.get(HorizontalPodAutoscalers, 'default/a')).status?.currentMetrics, [current]);
      assert.ok((await h.events()).some((event) => reason.test(event)));
      await h.stop();
    });

  it('moves only beyond its tolerance, which may differ by direction', async () => {
    const cases: [cpu: string, behavior: object, size: number][] = [
      ['56m', {}, 3],
      ['54m', {}, 2],
      ['56m', { scaleUp: { tolerance: '0.2' } }, 2],
      ['62m', { scaleUp: { tolerance: '200m' } }, 3],
      ['56m', { scaleDown: { tolerance: '0.9' } }, 3],
      ['51m', { scaleUp: { tolerance: '0' } }, 3],
    ];
    for (const [use, behavior, size] of cases) {
      const h = await start({ cpu: use });
      await autoscale(h, [cpu], { behavior });
      await h.run(2000);
      assert.equal(await sizeOf(h), size, `${use} ${JSON.stringify(behavior)}`);
      await h.stop();
    }
  });

  const limits: [what: string, size: number, more: object, expected: number, reason: RegExp][] = [
    ['too large', 20, {}, 10, /Current number of replicas above Spec\.MaxReplicas/],
    ['too small', 1, { minReplicas: 3 }, 3, /Current number of replicas below Spec\.MinReplicas/],
  ];
  for (const [what, size, more, expected, reason] of limits) {
    it(`brings a target that is ${what} into its range without asking metrics`, async () => {
      const h = await start({});
      await h.update(Deployments, 'default/d', (draft) => void (draft.spec!.replicas = size));
      await autoscale(h, [cpu], more);
      await h.run(2000);
      assert.equal(await sizeOf(h), expected);
      assert.ok((await h.events()).some((event) => reason.test(event)));
      await h.stop();
    });
  }

  it('is disabled for a target of size zero, and reports a missing target', async () => {
    const h = await start({ cpu: '200m' });
    await h.update(Deployments, 'default/d', (draft) => void (draft.spec!.replicas = 0));
    await autoscale(h, [cpu]);
    await h.run(16_000, { stepMs: 1000 });
    assert.equal(await sizeOf(h), 0);
    assert.equal((await conditions(h))['ScalingActive'], 'False ScalingDisabled');
    await h.remove(Deployments, 'default/d');
    await h.run(31_000, { stepMs: 1000 });
    assert.equal((await conditions(h))['AbleToScale'], 'False FailedGetScale');
    await h.stop();
  });
});
