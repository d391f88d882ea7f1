/** Folders of manifests: applied at the start and on changes, pruned when objects or files are removed, enabled and disabled. */
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { keelson, startCluster, type TestCluster } from './cluster-fixture.ts';
import { until } from './fixtures/until.ts';

const configMap = (name: string, value: string, namespace?: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}${namespace === undefined ? '' : `, namespace: ${namespace}`}}\ndata: {value: "${value}"}\n`;

const KIND = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: things, singular: thing, kind: Thing}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`;

describe('manifests of the data directory', () => {
  let cluster: TestCluster;
  const write = (name: string, text: string): void => writeFileSync(join(cluster.dataDir, 'manifests', name), text);
  const value = async (name: string, namespace = 'default'): Promise<string> => {
    const { code, stdout } = await cluster.outcome([
      'get',
      'configmap',
      name,
      '-n',
      namespace,
      '-o',
      'jsonpath={.data.value}',
    ]);
    return code === 0 ? stdout : 'gone';
  };
  const becomes = (name: string, expected: string, namespace?: string): Promise<unknown> =>
    until(`${name} is ${expected}`, async () => (await value(name, namespace)) === expected);

  before(async () => {
    cluster = await startCluster({ images: false });
  });
  after(() => cluster.stop());

  test('a new file is applied with its namespace first, and has its Addon and events', async () => {
    write(
      'web.yaml',
      `${configMap('one', '1', 'web')}---\n${configMap('two', '2')}---\napiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n`,
    );
    await becomes('one', '1', 'web');
    await becomes('two', '2');
    await until('the Addon is applied', async () =>
      /web +.*manifests\/web\.yaml +[0-9a-f]{64} *$/m.test(await cluster.kubectl('get addons -n kube-system')),
    );
    const reasons = await until('the events', async () => {
      const found = await cluster.kubectl([
        'get',
        'events',
        '-n',
        'kube-system',
        '-o',
        'jsonpath={.items[?(@.involvedObject.kind=="Addon")].reason}',
      ]);
      return found.includes('AppliedManifest') ? found : undefined;
    });
    assert.match(reasons, /ApplyingManifest/);
  });

  test('a change is applied, and objects that left the file are deleted', async () => {
    write('web.yaml', configMap('two', 'changed'));
    await becomes('two', 'changed');
    await until('the namespace is gone', async () => (await cluster.outcome('get namespace web')).code !== 0);
  });

  test('a file may define a kind and use it; a file that fails reports the reason and is retried', async () => {
    write('thing.yaml', `apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n`);
    await until('the failure is told', async () =>
      /thing +the server has no kind Thing/.test(
        (await keelson(['addons', 'ls', '--data-dir', cluster.dataDir])).stdout,
      ),
    );
    write('kind.yaml', KIND);
    await until('the thing is there', async () => (await cluster.outcome('get thing a')).code === 0);
  });

  test('an object that a user took over stays when its file is removed; the others are deleted', async () => {
    write('taken.yaml', `${configMap('mine', '1')}---\n${configMap('theirs', '1')}`);
    await becomes('theirs', '1');
    await cluster.kubectl('annotate configmap mine keelson.dev/addon-');
    rmSync(join(cluster.dataDir, 'manifests/taken.yaml'));
    await becomes('theirs', 'gone');
    assert.equal(await value('mine'), '1');
  });

  test('disable removes the objects, enable creates them again', async () => {
    const addons = (...args: string[]) => keelson(['addons', ...args, '--data-dir', cluster.dataDir]);
    assert.equal((await addons('disable', 'web')).code, 0);
    await becomes('two', 'gone');
    assert.match((await addons('ls')).stdout, /^web +disabled +0 /m);
    assert.equal((await addons('enable', 'web')).code, 0);
    await becomes('two', 'changed');
    assert.match((await addons('disable', 'nothing')).stderr, /there is no addon nothing/);
  });

  test('disabled components do not run from the next start on, and run again once enabled', async () => {
    const addons = (...args: string[]) => keelson(['addons', ...args, '--data-dir', cluster.dataDir]);
    const restart = async (): Promise<void> => {
      await keelson(['down', '--data-dir', cluster.dataDir]);
      await cluster.up();
    };
    const parts = ['load-balancer', 'local-path', 'metrics'];
    const address = (): Promise<string> =>
      cluster.kubectl(['get', 'service', 'balanced', '-o', 'jsonpath={.status.loadBalancer.ingress[0].ip}']);
    for (const name of parts) {
      const { stdout } = await addons('disable', name);
      assert.equal(stdout, `${name} is disabled from the next start on: keelson down, then keelson up\n`);
    }
    assert.match((await addons('ls')).stdout, /^metrics +disabled from the next start /m);
    assert.equal((await cluster.outcome('get --raw /apis/metrics.k8s.io/v1beta1/nodes')).code, 0);
    await restart();
    assert.match((await addons('ls')).stdout, /^metrics +disabled +0$/m);
    assert.match((await cluster.outcome('top nodes')).stderr, /Metrics API not available/);
    assert.match((await cluster.outcome('get storageclass')).stderr, /No resources found/);
    await cluster.kubectl('create service loadbalancer balanced --tcp=7070:7070');
    const { stdout } = await cluster.outcome('get --raw /metrics');
    assert.doesNotMatch(stdout, /running_managed_controllers.*local-path/);
    assert.equal(await address(), '');
    for (const name of parts) assert.equal((await addons('enable', name)).code, 0);
    await restart();
    assert.equal((await cluster.outcome('get --raw /apis/metrics.k8s.io/v1beta1/nodes')).code, 0);
    assert.match(await cluster.kubectl('get storageclass'), /local-path \(default\)/);
    await until('the service gets its address', async () => (await address()) !== '');
  });

  test('files added and removed while the cluster is down, and folders below', async () => {
    await keelson(['down', '--data-dir', cluster.dataDir]);
    rmSync(join(cluster.dataDir, 'manifests/web.yaml'));
    mkdirSync(join(cluster.dataDir, 'manifests/more'));
    write(
      'more/late.json',
      JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'late' }, data: { value: 'l' } }),
    );
    await cluster.up();
    await becomes('late', 'l');
    await becomes('two', 'gone');
  });
});
