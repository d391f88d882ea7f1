/** v1 stores fields that it lacks in annotations, in upstream's format, and v2 restores them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HorizontalPodAutoscaler as V1 } from '../../../api/gen/autoscaling-v1.ts';
import type { HorizontalPodAutoscaler, MetricSpec } from '../../../api/gen/autoscaling-v2.ts';
import { startWithAll } from '../../all-resources-fixture.ts';
import { autoscalerFromV1, autoscalerToV1 } from './conversion.ts';

const PREFIX = 'autoscaling.alpha.kubernetes.io/';
const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
const selector = { matchLabels: { a: 'b' } };

const cpu = (averageUtilization: number): MetricSpec => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
});

/** Each kind of metric, and Go's annotation for it in v1. */
const metrics: readonly (readonly [MetricSpec, string])[] = [
  [
    { type: 'Pods', pods: { metric: { name: 'p', selector }, target: { type: 'AverageValue', averageValue: '1k' } } },
    '{"type":"Pods","pods":{"metricName":"p","targetAverageValue":"1k","selector":{"matchLabels":{"a":"b"}}}}',
  ],
  [
    {
      type: 'Object',
      object: {
        describedObject: { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', name: 'i' },
        metric: { name: 'r' },
        target: { type: 'AverageValue', averageValue: '2' },
      },
    },
    '{"type":"Object","object":{"target":{"kind":"Ingress","name":"i","apiVersion":"networking.k8s.io/v1"},"metricName":"r","targetValue":"0","averageValue":"2"}}',
  ],
  [
    { type: 'External', external: { metric: { name: 'q', selector }, target: { type: 'Value', value: '30' } } },
    '{"type":"External","external":{"metricName":"q","metricSelector":{"matchLabels":{"a":"b"}},"targetValue":"30"}}',
  ],
  [
    { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } } },
    '{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}}',
  ],
  [
    {
      type: 'ContainerResource',
      containerResource: { name: 'cpu', container: 'c', target: { type: 'Utilization', averageUtilization: 60 } },
    },
    '{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageUtilization":60,"container":"c"}}',
  ],
];

function autoscaler(spec: object, status?: object): HorizontalPodAutoscaler {
  const object = {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'a' },
    spec: { scaleTargetRef, minReplicas: 1, maxReplicas: 5, ...spec },
    status: { desiredReplicas: 0, currentMetrics: [], ...status },
  };
  return object as HorizontalPodAutoscaler;
}

test('each kind of metric is converted to v1 as Go writes it, and back; the CPU metric is last then', () => {
  const whole = autoscaler({ metrics: [cpu(50), ...metrics.map(([metric]) => metric)] });
  const v1 = autoscalerToV1(whole);
  assert.equal(v1.spec.targetCPUUtilizationPercentage, 50);
  assert.equal(v1.metadata.annotations?.[`${PREFIX}metrics`], `[${metrics.map(([, text]) => text).join()}]`);
  const back = autoscalerFromV1(v1);
  assert.deepEqual(back, autoscaler({ metrics: [...metrics.map(([metric]) => metric), cpu(50)] }));
});

test('behavior has the names of the internal struct', () => {
  const rules = { selectPolicy: 'Max', policies: [{ type: 'Pods', value: 4, periodSeconds: 60 }], tolerance: '100m' };
  const whole = autoscaler({ metrics: [cpu(50)], behavior: { scaleUp: { stabilizationWindowSeconds: 0, ...rules } } });
  const v1 = autoscalerToV1(whole);
  assert.equal(
    v1.metadata.annotations?.[`${PREFIX}behavior`],
    '{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":60}],"Tolerance":"100m"},"ScaleDown":null}',
  );
  assert.deepEqual(autoscalerFromV1(v1), whole);
});

test('all that a status reports is in the annotations, the cpu too', () => {
  const current = { averageUtilization: 5, averageValue: '100m' };
  const currentMetrics = [{ type: 'Resource', resource: { name: 'cpu', current } }];
  const conditions = [{ type: 'AbleToScale', status: 'True', reason: 'A' }];
  const whole = autoscaler({ metrics: [cpu(50)] }, { currentMetrics, conditions });
  const v1 = autoscalerToV1(whole);
  assert.equal(v1.status?.currentCPUUtilizationPercentage, 5);
  assert.deepEqual(v1.metadata.annotations, {
    [`${PREFIX}current-metrics`]:
      '[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":5,"currentAverageValue":"100m"}}]',
    [`${PREFIX}conditions`]: '[{"type":"AbleToScale","status":"True","lastTransitionTime":null,"reason":"A"}]',
  });
  assert.deepEqual(autoscalerFromV1(v1), whole);
});

test('annotations of another form carry nothing, and no stored object keeps them', () => {
  for (const text of ['bad', '{}', '[{"type":1}]', '[{"type":"Pods","pods":{"targetAverageValue":"x"}}]']) {
    const v1: V1 = {
      apiVersion: 'autoscaling/v1',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'a', annotations: { [`${PREFIX}metrics`]: text, own: 'kept' } },
      spec: { scaleTargetRef, maxReplicas: 5 },
    };
    const { metadata, spec } = autoscalerFromV1(v1);
    assert.deepEqual([metadata.annotations, spec.metrics], [{ own: 'kept' }, [cpu(80)]], text);
  }
});

test('a behavior deeper than any is none', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  for (const text of [deep, `{"ScaleUp":${deep}}`, `{"ScaleUp":{"Policies":${deep}}}`]) {
    const metadata = { name: 'a', annotations: { [`${PREFIX}behavior`]: text } };
    const v1 = { apiVersion: 'autoscaling/v1', metadata, spec: { scaleTargetRef, maxReplicas: 5 } } as V1;
    assert.equal(autoscalerFromV1(v1).spec.behavior, undefined);
  }
});

test('the server refuses an autoscaler without a spec', async () => {
  const { send } = await startWithAll();
  for (const version of ['v1', 'v2']) {
    const path = `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers`;
    const { status, text } = await send(
      'POST',
      path,
      { metadata: { name: 'a' } },
      { 'content-type': 'application/json' },
    );
    assert.equal(status, 422, text);
  }
});

test('the server accepts metrics through v1, and a status only through its sub-resource', async () => {
  const { send } = await startWithAll();
  const json = { 'content-type': 'application/json' };
  const [v1, v2] = ['v1', 'v2'].map(
    (version) => `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers`,
  );
  const annotations = {
    [`${PREFIX}metrics`]: `[${metrics[0]![1]}]`,
    [`${PREFIX}conditions`]: '[{"type":"AbleToScale","status":"True"}]',
  };
  const object = { metadata: { name: 'a', annotations }, spec: { scaleTargetRef, maxReplicas: 5 } };
  const made = await send('POST', v1!, object, json);
  assert.equal(made.status, 201, made.text);
  const stored = await send('GET', `${v2}/a`);
  assert.deepEqual(stored.body.spec.metrics, [metrics[0]![0]]);
  assert.deepEqual([stored.body.status.conditions, stored.body.metadata.annotations], [undefined, undefined]);
  const changed = {
    ...object,
    metadata: { ...object.metadata, annotations: { [`${PREFIX}metrics`]: `[${metrics[2]![1]}]` } },
  };
  const put = await send('PUT', `${v1}/a`, changed, json);
  assert.equal(put.status, 200, put.text);
  const status = await send(
    'PUT',
    `${v1}/a/status`,
    { ...object, status: { currentReplicas: 1, desiredReplicas: 1 } },
    json,
  );
  assert.equal(status.status, 200, status.text);
  const last = await send('GET', `${v2}/a`);
  assert.deepEqual([last.body.spec.metrics, last.body.status.conditions?.[0].type], [[metrics[2]![0]], 'AbleToScale']);
});

test('an annotation of thousands of metrics is refused before it is read', () => {
  for (const [name, text] of [
    ['metrics', `[${'{},'.repeat(5000)}{}]`],
    ['current-metrics', `[${'{},'.repeat(5000)}{}]`],
    ['conditions', `[${'[],'.repeat(5000)}{}]`],
    ['behavior', `{"ScaleUp":{"Policies":[${'{},'.repeat(5000)}{}]}}`],
  ] as const) {
    const key = `${PREFIX}${name}`;
    const object = { ...autoscaler({}), metadata: { name: 'a', annotations: { [key]: text } } };
    assert.throws(() => autoscalerFromV1(object as unknown as V1), {
      message: `Request entity too large: limit is 5000 fields, entries and items in the annotation ${key}`,
    });
  }
});

test('an annotation that nests deeper than objects may carries nothing', () => {
  const annotations = { [`${PREFIX}metrics`]: '['.repeat(100_000) };
  const { spec } = autoscalerFromV1({
    metadata: { name: 'a', annotations },
    spec: { scaleTargetRef, maxReplicas: 5 },
  } as V1);
  assert.deepEqual(spec.metrics, [cpu(80)]);
});
