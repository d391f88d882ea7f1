/** Real clients on a real port, in real and in virtual time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import {
  AppsV1Api,
  Attach,
  CertificatesV1Api,
  CoreV1Api,
  Exec,
  KubeConfig,
  type V1Status,
} from '@kubernetes/client-node';
import { createRequest } from '../component-helpers/pki/certificates.ts';
import { createNodePlatform } from '../platform/node/node-platform.ts';
import { Cluster } from './cluster.ts';

function clientOf(kubeconfig: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  return config;
}

const body = {
  metadata: { name: 'web' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
  },
};

describe('a real port', () => {
  it('serves while virtual time stands; waits in the test advance it', async () => {
    await using cluster = await Cluster.start({ nodes: 1 });
    cluster.image('web:1', { start: '30s', logs: ['started'] });
    const config = clientOf(await cluster.kubeconfig());
    const nowMs = cluster.nowMs;
    await config.makeApiClient(AppsV1Api).createNamespacedDeployment({ namespace: 'default', body });
    const core = config.makeApiClient(CoreV1Api);
    assert.equal((await core.listNode()).items.length, 1);
    assert.equal(cluster.nowMs, nowMs);
    await cluster.waitFor('deployment/web', 'Available');
    assert.equal(Math.round((cluster.nowMs - nowMs) / 1000), 30);
    const [pod] = (await core.listNamespacedPod({ namespace: 'default' })).items;
    assert.equal(
      await core.readNamespacedPodLog({ namespace: 'default', name: pod?.metadata?.name ?? '' }),
      'started\n',
    );
  });

  it('runs commands in containers, and streams the log to attached clients', async () => {
    await using cluster = await Cluster.start({ nodes: 1 });
    cluster.image('app:1', {
      logs: ['before', { after: '5s', line: 'later' }],
      exits: { code: 0, after: '10s' },
      exec: ({ command }) => ({ exitCode: command.length, stdout: `ran ${command.join(' ')}\n`, stderr: 'oops\n' }),
    });
    const config = clientOf(await cluster.kubeconfig());
    const spec = { restartPolicy: 'Never', containers: [{ name: 'app', image: 'app:1' }] };
    await cluster.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec });
    await cluster.waitFor('pod/p', 'Ready');
    const collected = (): { stream: PassThrough; text: () => string } => {
      const stream = new PassThrough();
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      return { stream, text: () => Buffer.concat(chunks).toString('utf8') };
    };
    const [out, err, attached] = [collected(), collected(), collected()];
    const status = await new Promise<V1Status>((resolve, reject) => {
      const exec = new Exec(config);
      exec.exec('default', 'p', 'app', ['ls', '-l'], out.stream, err.stream, null, false, resolve).catch(reject);
    });
    // The streams arrive independently.
    while (out.text() === '' || err.text() === '') await setImmediate();
    assert.deepEqual([out.text(), err.text()], ['ran ls -l\n', 'oops\n']);
    assert.equal(status.details?.causes?.[0]?.message, '2');

    const socket = await new Attach(config).attach('default', 'p', 'app', attached.stream, err.stream, null, false);
    const closed = new Promise((resolve) => socket.on('close', resolve));
    await cluster.waitFor('pod/p', '.status.phase=Succeeded');
    await closed;
    while (attached.text() === '') await setImmediate();
    assert.equal(attached.text(), 'later\n');
  });

  it("reports an error of the test's command function to the client that runs the command", async () => {
    await using cluster = await Cluster.start({ nodes: 1 });
    cluster.image('app:1', { exec: ({ command }) => assert.fail(`no ${command.join(' ')} here`) });
    const config = clientOf(await cluster.kubeconfig());
    const spec = { containers: [{ name: 'app', image: 'app:1' }] };
    await cluster.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec });
    await cluster.waitFor('pod/p', 'Ready');
    const out = new PassThrough();
    const status = await new Promise<V1Status>((resolve, reject) => {
      new Exec(config).exec('default', 'p', 'app', ['ls'], out, out, null, false, resolve).catch(reject);
    });
    assert.equal(status.reason, 'InternalError');
    assert.equal(status.message, 'Internal error occurred: error executing command in container: no ls here');
  });

  it('publishes its certificate authority to pods', async () => {
    await using cluster = await Cluster.start({ nodes: 0 });
    const { kubeconfig } = await cluster.listen();
    const authority = Buffer.from(clientOf(kubeconfig).getCurrentCluster()?.caData ?? '', 'base64').toString('utf8');
    await cluster.waitFor<{ metadata: object; data?: Record<string, string> }>(
      'configmap/kube-root-ca.crt',
      ({ data }) => data?.['ca.crt'] === authority,
    );
  });

  it('supports each of its options, and names the cluster in the kubeconfig', async () => {
    await using cluster = await Cluster.start({ nodes: 0 });
    const at = { host: '127.0.0.1', port: 0, names: ['localhost'], clusterName: 'blue' };
    const { kubeconfig } = await cluster.listen(at);
    assert.equal(clientOf(kubeconfig).getCurrentContext(), 'blue');
  });

  it('responds with 503 while the API server is down', async () => {
    await using cluster = await Cluster.start({ nodes: 0 });
    const core = clientOf(await cluster.kubeconfig()).makeApiClient(CoreV1Api);
    await cluster.faults.crash('apiserver');
    await assert.rejects(core.listNode(), ({ code }: { code: number }) => code === 503);
    await cluster.faults.start('apiserver');
    assert.deepEqual((await core.listNode()).items, []);
  });

  it('signs approved certificates, and reports its components as healthy', async () => {
    await using cluster = await Cluster.start({ nodes: 1 });
    const config = clientOf(await cluster.kubeconfig());
    const core = config.makeApiClient(CoreV1Api);
    const { items } = await core.listComponentStatus();
    const healthy = items.map(({ metadata, conditions }) => `${metadata?.name}=${conditions?.[0]?.status}`);
    assert.deepEqual(healthy, ['controller-manager=True', 'scheduler=True', 'etcd-0=True']);
    const certificates = config.makeApiClient(CertificatesV1Api);
    const { requestPem } = await createRequest(createNodePlatform({ startSpawner: false }), { commonName: 'ann' });
    const spec = {
      request: Buffer.from(requestPem).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client',
      usages: ['client auth'],
    };
    const request = await certificates.createCertificateSigningRequest({ body: { metadata: { name: 'ann' }, spec } });
    const approved = { type: 'Approved', status: 'True', reason: 'Test', message: 'asked for' };
    await certificates.replaceCertificateSigningRequestApproval({
      name: 'ann',
      body: { ...request, status: { conditions: [approved] } },
    });
    await cluster.eventually(async () => {
      const { status } = await certificates.readCertificateSigningRequest({ name: 'ann' });
      assert.match(Buffer.from(status?.certificate ?? '', 'base64').toString(), /BEGIN CERTIFICATE/);
    });
  });
});
