import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiVersionOf } from '../api/resource-info.ts';
import { createMemoryStore } from '../storage/memory/memory-store.ts';
import { ServiceAllocator } from './registry/core/services/service-allocator.ts';
import { createResourceDefinitions } from './registry/list.ts';
import { createServerStorage } from './server-storage.ts';
import { startTestServer, testPlatform, type TestServer } from './server-fixture.ts';

async function startWithAll(): Promise<TestServer> {
  const platform = testPlatform();
  const storage = createServerStorage({ store: createMemoryStore({ clock: platform.clock }), platform });
  const { objects } = storage;
  const serviceAllocator = new ServiceAllocator({ objects, random: platform.random }, { serviceClusterIpRanges: ['10.43.0.0/16'] });
  const definitions = createResourceDefinitions({ objects, platform, serviceAllocator, authorizer: { authorize: () => ({ decision: 'allow', reason: '' }) } });
  const server = await startTestServer({ storage, definitions });
  serviceAllocator.start();
  return { ...server, platform };
}

const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const forms = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf', table, 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'];
const bodies: unknown[] = [{ metadata: { name: 'x' } }, {}, { metadata: null }, { metadata: { name: 'x' }, spec: {} }, { metadata: { name: 'x' }, spec: null, status: { a: 1 } }, { spec: [] }];
const patches: [string, unknown][] = [
  ['application/merge-patch+json', { metadata: { labels: { z: '1' } }, spec: {} }],
  ['application/strategic-merge-patch+json', { metadata: { labels: { z: '2' } }, spec: { unknown: 1 } }],
  ['application/json-patch+json', [{ op: 'add', path: '/metadata/annotations', value: { a: 'b' } }]],
];

test('every resource, in every form: bad input is never the server\'s fault, and lists always work', async () => {
  const { send, storage } = await startWithAll();
  const faults: string[] = [];
  const check = async (answer: ReturnType<typeof send>, what: string): Promise<void> => {
    const { status, text } = await answer;
    if (status >= 500 || (what.startsWith('LIST') && status !== 200)) faults.push(`${what}: ${status} ${text.slice(0, 200)}`);
  };
  let count = 0;
  for (const { info } of storage.registry.served) {
    count++;
    const root = info.group === '' ? `/api/${info.version}` : `/apis/${apiVersionOf(info)}`;
    const base = `${root}${info.namespaced ? '/namespaces/default' : ''}/${info.resource}`;
    const can = (verb: string): boolean => info.verbs.includes(verb);
    if (can('create')) for (const body of bodies) await check(send('POST', base, body), `POST ${base} ${JSON.stringify(body)}`);
    if (can('patch')) {
      const apply = { apiVersion: apiVersionOf(info), kind: info.kind, metadata: { labels: { a: 'b' } } };
      for (const [type, patch] of [...patches, ['application/apply-patch+yaml', apply] as const]) {
        await check(send('PATCH', `${base}/x?fieldManager=m`, patch, { 'content-type': type }), `PATCH ${base} ${type}`);
      }
    }
    if (can('list')) for (const accept of forms) await check(send('GET', base, undefined, { accept }), `LIST ${base} ${accept}`);
    for (const { name } of info.subresources) await check(send('GET', `${base}/x/${name}`), `GET ${base}/x/${name}`);
    if (can('delete')) await check(send('DELETE', `${base}/x`), `DELETE ${base}`);
  }
  assert.ok(count > 60, `${count} resources`);
  assert.deepEqual(faults, []);
});

test('a pod is written as protobuf and read as JSON without loss', async () => {
  const { send } = await startWithAll();
  const path = '/api/v1/namespaces/default/pods';
  const made = await send('POST', path, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i', resources: { limits: { cpu: '1500m' } } }] } });
  assert.equal(made.status, 201, made.text);
  const protobuf = 'application/vnd.kubernetes.protobuf';
  const binary = await send('GET', `${path}/p`, undefined, { accept: protobuf });
  assert.ok(binary.response.kind === 'bytes');
  const back = await send('PUT', `${path}/p`, Buffer.concat(binary.response.chunks), { 'content-type': protobuf });
  assert.equal(back.status, 200, back.text);
  assert.equal(back.body.metadata.resourceVersion, made.body.metadata.resourceVersion, 'nothing changed on the way');
});

test('one kind in two versions shares its storage', async () => {
  const { send } = await startWithAll();
  const v2 = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers';
  const spec = { maxReplicas: 3, scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' } };
  const made = await send('POST', v2.replace('v2', 'v1'), { metadata: { name: 'h' }, spec: { ...spec, targetCPUUtilizationPercentage: 60 } });
  assert.equal(made.status, 201, made.text);
  const newer = await send('GET', `${v2}/h`);
  assert.equal(newer.body.apiVersion, 'autoscaling/v2');
  assert.equal(newer.body.spec.metrics[0].resource.target.averageUtilization, 60);
  const older = await send('GET', `${v2.replace('v2', 'v1')}/h`);
  assert.deepEqual([older.body.apiVersion, older.body.spec.targetCPUUtilizationPercentage], ['autoscaling/v1', 60]);
});

test('a job\'s dependents are orphaned unless the DELETE says otherwise', async () => {
  const { send } = await startWithAll();
  const path = '/apis/batch/v1/namespaces/default/jobs';
  const spec = { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } };
  for (const name of ['a', 'b']) assert.equal((await send('POST', path, { metadata: { name }, spec })).status, 201);
  assert.deepEqual((await send('DELETE', `${path}/a`)).body.metadata.finalizers, ['orphan']);
  assert.equal((await send('DELETE', `${path}/b`, { propagationPolicy: 'Background' })).body.status, 'Success');
});
