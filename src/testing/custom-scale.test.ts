/** A custom kind with a scale sub-resource, by which disruption budgets and autoscalers read and change its size. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodDisruptionBudget } from '../api/gen/policy-v1.ts';
import type { HorizontalPodAutoscaler } from '../api/gen/autoscaling-v2.ts';
import type { KubernetesObject } from '../api/object.ts';
import { Cluster } from './cluster.ts';

const FLOCKS = (scale: string): string => `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: flocks.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: flocks, kind: Flock}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}${scale}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
apiVersion: example.com/v1
kind: Flock
metadata: {name: geese}
spec: {size: 10}
`;
const SCALE =
  ', scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size, labelSelectorPath: .status.selector}';

const podOf = (flock: KubernetesObject, at: number): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: `goose-${at}`,
    labels: { bird: 'goose' },
    ownerReferences: [
      {
        apiVersion: 'example.com/v1',
        kind: 'Flock',
        name: flock.metadata.name,
        uid: flock.metadata.uid,
        controller: true,
      },
    ],
  },
  spec: { containers: [{ name: 'c', image: 'i' }] },
});

const BUDGET = (spec: object): object => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'b', namespace: 'default' },
  spec: { selector: { matchLabels: { bird: 'goose' } }, ...spec },
});

async function start(scale: string): Promise<Cluster> {
  const cluster = await Cluster.start({ nodes: 1 });
  await cluster.apply(FLOCKS(scale));
  const flock = await cluster.waitFor<KubernetesObject>('flock/geese', 'exists');
  await cluster.apply([0, 1, 2].map((at) => podOf(flock, at)));
  for (const at of [0, 1, 2]) await cluster.waitFor(`pod/goose-${at}`, 'Ready');
  return cluster;
}

describe('the size of a custom kind', () => {
  const rows: [spec: object, expected: number, desired: number, allowed: number][] = [
    [{ maxUnavailable: 8 }, 10, 2, 1],
    [{ maxUnavailable: '30%' }, 10, 7, 0],
    [{ minAvailable: '20%' }, 10, 2, 1],
    [{ minAvailable: 1 }, 3, 1, 2],
  ];
  for (const [spec, expected, desired, allowed] of rows)
    it(`is counted by a budget of ${JSON.stringify(spec)}`, async () => {
      await using cluster = await start(SCALE);
      await cluster.apply(BUDGET(spec));
      const { status } = await cluster.waitFor<PodDisruptionBudget>(
        'pdb/b',
        (budget) => budget.status?.currentHealthy === 3,
      );
      assert.deepEqual(
        [status?.expectedPods, status?.desiredHealthy, status?.disruptionsAllowed],
        [expected, desired, allowed],
      );
    });

  it('is unknown when the kind has no scale: the budget reports it and allows nothing', async () => {
    await using cluster = await start('');
    await cluster.apply(BUDGET({ maxUnavailable: 1 }));
    const budget = await cluster.waitFor<PodDisruptionBudget>('pdb/b', 'DisruptionAllowed=False');
    const condition = budget.status?.conditions?.[0];
    assert.deepEqual(
      [condition?.reason, condition?.message],
      ['SyncFailed', 'flocks.example.com does not implement the scale subresource'],
    );
    assert.deepEqual(
      cluster.events({ about: 'pdb/b', type: 'Warning' }).map(({ reason, message }) => `${reason}: ${message}`),
      [
        'CalculateExpectedPodCountFailed: Failed to calculate the number of expected pods: flocks.example.com does not implement the scale subresource',
      ],
    );
  });

  it('is changed by an autoscaler', async () => {
    await using cluster = await start(SCALE);
    await cluster.apply({
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'a', namespace: 'default' },
      spec: {
        scaleTargetRef: { apiVersion: 'example.com/v1', kind: 'Flock', name: 'geese' },
        minReplicas: 1,
        maxReplicas: 4,
      },
    });
    await cluster.waitFor('flock/geese', '.spec.size=4');
    const { status } = await cluster.waitFor<HorizontalPodAutoscaler>('hpa/a', '.status.desiredReplicas=4');
    assert.equal(status?.conditions?.find(({ type }) => type === 'AbleToScale')?.reason, 'SucceededRescale');
  });
});
