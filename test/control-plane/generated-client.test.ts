// A client generated from the published OpenAPI by an npm package compiles under strict rules and works.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { createClient } from '@hey-api/openapi-ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { startControlPlane } from './control-plane-fixture.ts';

const run = promisify(execFile);

/** Uses what differs between generators' inputs: ids, query parameters, bodies, results of deletions. */
const PROGRAM = `
import { client } from './client/client.gen.ts';
import {
  createCoreV1NamespacedConfigMap, createCoreV1NamespacedService, deleteCoreV1CollectionNamespacedConfigMap,
  deleteCoreV1NamespacedService, listCoreV1NamespacedConfigMap, patchCoreV1NamespacedConfigMap,
  readCoreV1NamespacedConfigMap, readCoreV1NamespacedPodLog, replaceCoreV1NamespacedConfigMap,
} from './client/index.ts';

client.setConfig({ baseUrl: process.env['SERVER'] ?? '', auth: () => process.env['TOKEN'] ?? '' });
client.interceptors.request.use((request) => {
  request.headers.set('authorization', \`Bearer \${process.env['TOKEN']}\`);
  // The generator takes the published '*/*' for a type of bodies; servers refuse it, upstream's too.
  if (request.headers.get('content-type') === '*/*') request.headers.set('content-type', 'application/json');
  return request;
});
const path = { namespace: 'default' };
const named = { namespace: 'default', name: 'made' };
const throwOnError = true as const;
const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'made', labels: { a: 'b' } }, data: { k: '1' } };
const made = await createCoreV1NamespacedConfigMap({ path, body, query: { fieldManager: 'generated' }, throwOnError });
const read = await readCoreV1NamespacedConfigMap({ path: named, throwOnError });
const replaced = await replaceCoreV1NamespacedConfigMap({ path: named, body: { ...read.data, data: { k: '2' } }, throwOnError });
const patched = await patchCoreV1NamespacedConfigMap({
  path: named, body: { data: { k: '3' } }, headers: { 'content-type': 'application/merge-patch+json' }, throwOnError,
});
const listed = await listCoreV1NamespacedConfigMap({ path, query: { labelSelector: 'a=b', limit: 5 }, throwOnError });
await deleteCoreV1CollectionNamespacedConfigMap({ path, query: { labelSelector: 'a=b' }, throwOnError });
const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'made' }, spec: { ports: [{ port: 80 }] } };
await createCoreV1NamespacedService({ path, body: service, throwOnError });
const gone = await deleteCoreV1NamespacedService({ path: named, throwOnError });
const log = await readCoreV1NamespacedPodLog({ path: named, query: { container: 'c', tailLines: 1, follow: false } });
console.log(JSON.stringify({
  manager: made.data.metadata?.managedFields?.[0]?.manager,
  values: [made, read, replaced, patched].map(({ data }) => data.data?.['k']),
  listed: listed.data.items.map(({ metadata }) => metadata?.name),
  gone: [gone.data.kind, gone.data.spec?.ports?.[0]?.port],
  log: log.response?.status,
}));
`;

test('a client generated from /openapi/v3 compiles under strict rules and reads, writes, lists and deletes', async () => {
  const fixture = await startControlPlane();
  // Within the repository, because the compiler finds the types of Node.js from there.
  await mkdir(join(repositoryRoot, '.cache'), { recursive: true });
  const folder = await mkdtemp(join(repositoryRoot, '.cache', 'generated-client-'));
  after(async () => {
    await rm(folder, { recursive: true, force: true });
    await fixture.stop();
  });
  const kubectl = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await fixture.kubectl(args);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const document = join(folder, 'v3.json');
  await writeFile(document, await kubectl('get', '--raw', '/openapi/v3/api/v1'));
  await createClient({
    input: document,
    output: { path: join(folder, 'client'), module: { extension: '.ts' } },
    plugins: ['@hey-api/typescript', '@hey-api/sdk', '@hey-api/client-fetch'],
    logs: { level: 'silent' },
  });
  await writeFile(join(folder, 'program.ts'), PROGRAM);
  const tsconfig = {
    extends: '../../tsconfig.json',
    include: ['program.ts'],
    compilerOptions: { lib: ['es2024', 'dom', 'dom.iterable'], skipLibCheck: true },
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig));
  const tsc = join(repositoryRoot, 'node_modules/typescript7/bin/tsc');
  const compiled = await run(process.execPath, [tsc, '--noEmit', '-p', folder]).catch(
    (error: { stdout: string }) => error,
  );
  assert.equal(compiled.stdout, '');
  await kubectl('create', 'serviceaccount', 'generated');
  await kubectl(
    'create',
    'clusterrolebinding',
    'generated',
    '--clusterrole=cluster-admin',
    '--serviceaccount=default:generated',
  );
  const ca = join(folder, 'ca.pem');
  await writeFile(ca, fixture.tls.ca);
  const { stdout } = await run(process.execPath, [join(folder, 'program.ts')], {
    env: {
      PATH: process.env['PATH'],
      NODE_EXTRA_CA_CERTS: ca,
      SERVER: `https://127.0.0.1:${fixture.port}`,
      TOKEN: await kubectl('create', 'token', 'generated'),
    },
  });
  assert.deepEqual(JSON.parse(stdout), {
    manager: 'generated',
    values: ['1', '1', '2', '3'],
    listed: ['made'],
    gone: ['Service', 80],
    log: 404,
  });
});
