import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWithAll } from './all-resources-fixture.ts';
import { apiVersionOf } from '../api/resource-info.ts';

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const forms = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  TABLE,
  'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
];
const bodies: unknown[] = [
  { metadata: { name: 'x' } },
  {},
  { metadata: null },
  { metadata: { name: 'x' }, spec: {} },
  { metadata: { name: 'x' }, spec: null, status: { a: 1 } },
  { spec: [] },
];
const patches: [string, unknown][] = [
  ['application/merge-patch+json', { metadata: { labels: { z: '1' } }, spec: {} }],
  ['application/strategic-merge-patch+json', { metadata: { labels: { z: '2' } }, spec: { unknown: 1 } }],
  ['application/json-patch+json', [{ op: 'add', path: '/metadata/annotations', value: { a: 'b' } }]],
];

test("every resource, in every form: bad input is never the server's fault, and lists always work", async () => {
  const { send, storage } = await startWithAll();
  const faults: string[] = [];
  const check = async (answer: ReturnType<typeof send>, what: string): Promise<void> => {
    const { status, text } = await answer;
    if (status >= 500 || (what.startsWith('LIST') && status !== 200))
      faults.push(`${what}: ${status} ${text.slice(0, 200)}`);
  };
  let count = 0;
  for (const { info } of storage.registry.served) {
    count++;
    const root = info.group === '' ? `/api/${info.version}` : `/apis/${apiVersionOf(info)}`;
    const base = `${root}${info.namespaced ? '/namespaces/default' : ''}/${info.resource}`;
    const can = (verb: string): boolean => info.verbs.includes(verb);
    if (can('create'))
      for (const body of bodies) await check(send('POST', base, body), `POST ${base} ${JSON.stringify(body)}`);
    if (can('patch')) {
      const apply = { apiVersion: apiVersionOf(info), kind: info.kind, metadata: { labels: { a: 'b' } } };
      for (const [type, patch] of [...patches, ['application/apply-patch+yaml', apply] as const]) {
        await check(
          send('PATCH', `${base}/x?fieldManager=m`, patch, { 'content-type': type }),
          `PATCH ${base} ${type}`,
        );
      }
    }
    if (can('list'))
      for (const accept of forms) await check(send('GET', base, undefined, { accept }), `LIST ${base} ${accept}`);
    for (const { name } of info.subresources) await check(send('GET', `${base}/x/${name}`), `GET ${base}/x/${name}`);
    if (can('delete')) await check(send('DELETE', `${base}/x`), `DELETE ${base}`);
  }
  assert.ok(count > 60, `${count} resources`);
  assert.deepEqual(faults, []);
});

test('a pod is written as protobuf and read as JSON without loss', async () => {
  const { send } = await startWithAll();
  const path = '/api/v1/namespaces/default/pods';
  const made = await send('POST', path, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'c', image: 'i', resources: { limits: { cpu: '1500m' } } }] },
  });
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
  const made = await send('POST', v2.replace('v2', 'v1'), {
    metadata: { name: 'h' },
    spec: { ...spec, targetCPUUtilizationPercentage: 60 },
  });
  assert.equal(made.status, 201, made.text);
  const newer = await send('GET', `${v2}/h`);
  assert.equal(newer.body.apiVersion, 'autoscaling/v2');
  assert.equal(newer.body.spec.metrics[0].resource.target.averageUtilization, 60);
  const older = await send('GET', `${v2.replace('v2', 'v1')}/h`);
  assert.deepEqual([older.body.apiVersion, older.body.spec.targetCPUUtilizationPercentage], ['autoscaling/v1', 60]);
});

test("a job's dependents are orphaned unless the DELETE requests otherwise", async () => {
  const { send } = await startWithAll();
  const path = '/apis/batch/v1/namespaces/default/jobs';
  const spec = { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } };
  for (const name of ['a', 'b']) assert.equal((await send('POST', path, { metadata: { name }, spec })).status, 201);
  assert.deepEqual((await send('DELETE', `${path}/a`)).body.metadata.finalizers, ['orphan']);
  assert.equal((await send('DELETE', `${path}/b`, { propagationPolicy: 'Background' })).body.status, 'Success');
});

test('an object stored under another version is returned in the requested one, with its defaults', async () => {
  const { send, storage } = await startWithAll();
  const stored = {
    kind: 'CronJob',
    apiVersion: 'batch/v1beta1',
    metadata: { name: 'old', namespace: 'default', uid: 'u' },
    spec: {
      schedule: '* * * * *',
      jobTemplate: {
        spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } },
      },
    },
  };
  await storage.store.put({
    key: '/registry/cronjobs/default/old',
    value: Buffer.from(JSON.stringify(stored)),
    expectRevision: 0,
  });
  const path = '/apis/batch/v1/namespaces/default/cronjobs';
  const one = (await send('GET', `${path}/old`)).body;
  assert.deepEqual(
    [one.apiVersion, one.spec.concurrencyPolicy, one.metadata.resourceVersion],
    ['batch/v1', 'Allow', String(storage.hub.revision)],
  );
  const { items } = (await send('GET', path)).body;
  const { kind: _, apiVersion: _version, ...item } = one;
  assert.deepEqual(items, [item], 'items of a list have no kind of their own');
  const older = await send(
    'PATCH',
    `${path}/old`,
    { spec: { suspend: true } },
    { 'content-type': 'application/merge-patch+json' },
  );
  assert.equal(older.body.apiVersion, 'batch/v1', older.text);
});
