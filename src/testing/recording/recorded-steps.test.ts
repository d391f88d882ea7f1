/** Requests as steps. `test/control-plane/sim-record.test.ts` shows with kubectl that the steps have the same effect. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parseRequestInfo } from '../../apiserver/request-info.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { parseScenario } from '../scenario.ts';
import { recordedSteps } from './recorded-steps.ts';

interface Case {
  readonly request: string;
  readonly contentType?: string;
  readonly body?: unknown;
  readonly answer?: unknown;
  readonly target?: KubernetesObject;
  readonly steps: readonly object[] | string;
}

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const LAST = { 'kubectl.kubernetes.io/last-applied-configuration': '{}' };
const configMap = (metadata: object, more: object = {}) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata, ...more });

const drawn = (kind: string, generateName: string | undefined, name: string, owner = 'ReplicaSet') =>
  ({
    apiVersion: 'v1',
    kind,
    metadata: {
      name,
      generateName,
      ownerReferences: [{ apiVersion: 'v1', kind: owner, name: 'report', uid: 'u', controller: true }],
    },
  }) as KubernetesObject;

const CASES: readonly Case[] = [
  {
    request: 'POST /api/v1/namespaces/shop/configmaps?fieldManager=kubectl',
    body: configMap({ name: 'a', creationTimestamp: null, annotations: LAST }, { data: { k: 'v' }, status: {} }),
    steps: [{ apply: configMap({ name: 'a', namespace: 'shop' }, { data: { k: 'v' } }) }],
  },
  {
    request: 'POST /api/v1/namespaces/default/configmaps',
    body: configMap({ generateName: 'a-' }),
    answer: configMap({ name: 'a-x7k2p', uid: 'u' }),
    steps: [{ apply: configMap({ name: 'a-x7k2p' }) }],
  },
  {
    request: `PATCH ${DEPLOYMENTS}/web`,
    contentType: 'application/strategic-merge-patch+json',
    body: { metadata: { annotations: LAST }, spec: { replicas: 3 } },
    steps: [{ patch: { object: 'deployment/web', strategic: { spec: { replicas: 3 } } } }],
  },
  {
    request: `PATCH ${DEPLOYMENTS}/web/scale`,
    contentType: 'application/merge-patch+json',
    body: { spec: { replicas: 3 } },
    steps: [{ patch: { object: 'deployment/web', merge: { spec: { replicas: 3 } }, subresource: 'scale' } }],
  },
  {
    request: 'PATCH /api/v1/nodes/node-1',
    contentType: 'application/json-patch+json; charset=utf-8',
    body: [{ op: 'remove', path: '/spec/unschedulable' }],
    steps: [{ patch: { object: 'node/node-1', json: [{ op: 'remove', path: '/spec/unschedulable' }] } }],
  },
  {
    request: 'PATCH /api/v1/namespaces/default/configmaps/a?fieldManager=me&force=true',
    contentType: 'application/apply-patch+yaml',
    body: configMap({ name: 'a' }, { data: { k: 'v' } }),
    steps: [{ apply: configMap({ name: 'a' }, { data: { k: 'v' } }) }],
  },
  {
    request: 'PUT /api/v1/namespaces/default/configmaps/a',
    body: configMap(
      { name: 'a', namespace: 'default', resourceVersion: '7', labels: { x: 'y' } },
      { data: { k: 'v' } },
    ),
    steps: [
      {
        patch: {
          object: 'configmap/a',
          json: [
            { op: 'add', path: '/metadata/labels', value: { x: 'y' } },
            { op: 'add', path: '/data', value: { k: 'v' } },
          ],
        },
      },
    ],
  },
  {
    request: 'PUT /api/v1/namespaces/default/configmaps/a (what it leaves out is removed)',
    target: configMap(
      {
        ...{
          name: 'a',
          namespace: 'default',
          uid: 'u',
          resourceVersion: '7',
          deletionTimestamp: '2026-01-01T00:00:00Z',
        },
        ...{ finalizers: ['example.com/x'], labels: { x: 'y' }, annotations: LAST },
      },
      { data: { k: 'v' }, 'a/b~c': 1 },
    ) as KubernetesObject,
    body: configMap(
      { name: 'a', namespace: 'default', uid: 'u', resourceVersion: '7', deletionTimestamp: '2026-01-01T00:00:00Z' },
      { binaryData: { k: 'dg==' } },
    ),
    steps: [
      {
        patch: {
          object: 'configmap/a',
          json: [
            { op: 'add', path: '/metadata/finalizers', value: [] },
            { op: 'add', path: '/metadata/labels', value: {} },
            { op: 'add', path: '/binaryData', value: { k: 'dg==' } },
            { op: 'remove', path: '/data' },
            { op: 'remove', path: '/a~1b~0c' },
          ],
        },
      },
    ],
  },
  {
    request: `PUT ${DEPLOYMENTS}/web/status`,
    body: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, status: { replicas: 2 } },
    steps: [
      {
        patch: {
          object: 'deployment/web',
          json: [{ op: 'add', path: '/status', value: { replicas: 2 } }],
          subresource: 'status',
        },
      },
    ],
  },
  {
    request: 'DELETE /api/v1/namespaces/shop/pods/p',
    body: { propagationPolicy: 'Background' },
    steps: [{ delete: 'pod/shop/p' }],
  },
  {
    request: 'DELETE /api/v1/namespaces/default/pods/p',
    body: { gracePeriodSeconds: 0, propagationPolicy: 'Foreground' },
    steps: [{ delete: { object: 'pod/p', grace: 0, propagation: 'Foreground' } }],
  },
  {
    request: 'DELETE /api/v1/namespaces/default/pods?labelSelector=a',
    answer: { items: [configMap({ name: 'p' }), configMap({ name: 'q' })] },
    steps: [{ delete: 'pod/p' }, { delete: 'pod/q' }],
  },
  {
    request: 'POST /api/v1/namespaces/default/pods/p/eviction',
    body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } },
    steps: [{ evict: 'pod/p' }],
  },
  {
    request: 'POST /api/v1/namespaces/shop/pods/web-7f-abcde/eviction',
    body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'web-7f-abcde' } },
    target: drawn('Pod', 'web-7f-', 'web-7f-abcde'),
    steps: [{ evict: 'pod/shop/web-7f-*' }],
  },
  {
    request: 'DELETE /apis/batch/v1/namespaces/default/jobs/report-29454720',
    target: drawn('Job', undefined, 'report-29454720'),
    steps: [{ delete: 'job/report-*' }],
  },
  {
    request: 'DELETE /api/v1/namespaces/default/pods/db-0',
    target: drawn('Pod', 'db-', 'db-0', 'StatefulSet'),
    steps: [{ delete: 'pod/db-0' }],
  },
  {
    request: 'POST /apis/example.com/v1/namespaces/default/sites',
    body: { apiVersion: 'example.com/v1', kind: 'Site', metadata: { name: 's' }, spec: { pages: 3 } },
    steps: [{ apply: { apiVersion: 'example.com/v1', kind: 'Site', metadata: { name: 's' }, spec: { pages: 3 } } }],
  },
  { request: 'DELETE /apis/example.com/v1/namespaces/default/sites/s', steps: [{ delete: 'sites/s' }] },
  { request: 'POST /api/v1/namespaces/default/pods?dryRun=All', body: configMap({ name: 'a' }), steps: [] },
  { request: 'POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews', body: {}, steps: [] },
  { request: 'POST /api/v1/namespaces/default/serviceaccounts/default/token', body: {}, steps: [] },
  { request: 'POST /api/v1/namespaces/default/events', body: {}, steps: [] },
  { request: 'POST /api/v1/namespaces/default/pods/p/binding', body: {}, steps: 'create pods/binding p' },
];

for (const { request, contentType = 'application/json', body, answer, target, steps } of CASES)
  it(`${request} (${contentType})`, () => {
    const [method = '', line = ''] = request.split(' ');
    const [path = '', query] = line.split('?');
    const params = new URLSearchParams(query);
    const info = parseRequestInfo({ method, path, params });
    const recorded = recordedSteps({ info, params, contentType, body, answer, target }, new Map());
    const plain: unknown = JSON.parse(JSON.stringify(recorded));
    assert.deepEqual(plain, steps);
    if (typeof plain !== 'string') parseScenario(JSON.stringify({ name: 'x', steps: plain }));
  });

it('kubectl drain becomes one step, until the node is uncordoned', () => {
  const cordons = new Map();
  const record = (request: string, body: unknown, target?: object): unknown => {
    const [method = '', line = ''] = request.split(' ');
    const [path = '', query] = line.split('?');
    const params = new URLSearchParams(query);
    const info = parseRequestInfo({ method, path, params });
    const exchange = { info, params, contentType: 'application/strategic-merge-patch+json', body, answer: undefined };
    return recordedSteps({ ...exchange, target: target as KubernetesObject }, cordons);
  };
  const on = (nodeName: string): object => ({ kind: 'Pod', metadata: { name: 'p' }, spec: { nodeName } });
  const cordon = { spec: { unschedulable: true } };
  const evict = (nodeName: string): unknown =>
    record('POST /api/v1/namespaces/default/pods/p/eviction', {}, on(nodeName));
  record('PATCH /api/v1/nodes/node-2', cordon);
  record('PATCH /api/v1/nodes/node-2', { metadata: { labels: { a: 'b' } } });
  assert.deepEqual(evict('node-2'), [{ tryDrain: { node: 'node-2' } }]);
  assert.deepEqual(evict('node-2'), []);
  assert.deepEqual(evict('node-1'), [{ evict: 'pod/p' }]);
  record('PATCH /api/v1/nodes/node-2', { spec: { unschedulable: null } });
  assert.deepEqual(evict('node-2'), [{ evict: 'pod/p' }]);
});
