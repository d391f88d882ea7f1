/** The cluster through @kubernetes/client-node: lists, watches, an informer, exec, logs, and errors as objects. */
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import {
  AppsV1Api,
  CoreV1Api,
  Exec,
  KubeConfig,
  KubernetesObjectApi,
  Log,
  makeInformer,
  PatchStrategy,
  PortForward,
  Watch,
  type ApiException,
  type V1ConfigMap,
  type V1Status,
} from '@kubernetes/client-node';
import { images, startCluster, type TestCluster } from './cluster-fixture.ts';

function collected(): { stream: PassThrough; text(): string } {
  const stream = new PassThrough();
  let text = '';
  stream.setEncoding('utf8').on('data', (part: string) => (text += part));
  return { stream, text: () => text };
}

describe('@kubernetes/client-node', { concurrency: 4 }, () => {
  let cluster: TestCluster;
  let config: KubeConfig;
  let core: CoreV1Api;
  const namespace = 'client-node';
  before(async () => {
    cluster = await startCluster();
    await cluster.space(namespace);
    config = new KubeConfig();
    config.loadFromFile(cluster.kubeconfig);
    core = config.makeApiClient(CoreV1Api);
    await cluster.kubectl(`run -n ${namespace} web --image=${images.test}`);
    await cluster.kubectl(`wait -n ${namespace} --for=condition=Ready pod/web --timeout=120s`);
  });
  after(() => cluster?.stop());

  it('creates, reads, patches, scales and deletes objects, and throws the errors of the server', async () => {
    const apps = config.makeApiClient(AppsV1Api);
    const labels = { app: 'lib' };
    const body = {
      metadata: { name: 'lib' },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'web', image: images.test }] },
        },
      },
    };
    const created = await apps.createNamespacedDeployment({ namespace, body });
    assert.ok(created.metadata?.creationTimestamp instanceof Date);
    await apps.patchNamespacedDeploymentScale({
      namespace,
      name: 'lib',
      body: [{ op: 'replace', path: '/spec/replicas', value: 2 }],
    });
    await cluster.until(
      'two ready',
      async () => (await apps.readNamespacedDeployment({ namespace, name: 'lib' })).status?.readyReplicas === 2,
    );
    const objects = KubernetesObjectApi.makeApiClient(config);
    const patched = await objects.patch(
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'lib', namespace, labels: { by: 'patch' } } },
      undefined,
      undefined,
      undefined,
      undefined,
      PatchStrategy.MergePatch,
    );
    assert.equal(patched.metadata?.labels?.['by'], 'patch');
    await apps.deleteNamespacedDeployment({ namespace, name: 'lib', propagationPolicy: 'Foreground' });
    await cluster.until(
      'no pods of it',
      async () => (await core.listNamespacedPod({ namespace, labelSelector: 'app=lib' })).items.length === 0,
    );
    await assert.rejects(core.readNamespacedPod({ namespace, name: 'nobody' }), (error: ApiException<string>) => {
      assert.equal(error.code, 404);
      assert.equal((JSON.parse(error.body) as V1Status).message, 'pods "nobody" not found');
      return true;
    });
  });

  it('watches objects and keeps an informer current', async () => {
    const seen: string[] = [];
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const labelSelector = 'watched=yes';
    const controller = await new Watch(config).watch(
      path,
      { labelSelector, allowWatchBookmarks: true },
      (type, object: V1ConfigMap) => seen.push(`${type} ${object.metadata?.name}`),
      () => undefined,
    );
    const informer = makeInformer<V1ConfigMap>(
      config,
      path,
      () => core.listNamespacedConfigMap({ namespace, labelSelector }),
      labelSelector,
    );
    const events: string[] = [];
    for (const event of ['add', 'update', 'delete'] as const)
      informer.on(event, (object) => void events.push(`${event} ${object.metadata?.name} ${object.data?.['v']}`));
    await informer.start();
    const body = { metadata: { name: 'followed', labels: { watched: 'yes' } }, data: { v: '1' } };
    await core.createNamespacedConfigMap({ namespace, body });
    await cluster.until('the addition', async () => events.length === 1);
    await core.replaceNamespacedConfigMap({ namespace, name: 'followed', body: { ...body, data: { v: '2' } } });
    await cluster.until('the update', async () => events.length === 2);
    await core.deleteNamespacedConfigMap({ namespace, name: 'followed' });
    await cluster.until('the deletion', async () => events.length === 3 && seen.length >= 3);
    assert.deepEqual(events, ['add followed 1', 'update followed 2', 'delete followed 2']);
    assert.deepEqual(
      seen.filter((line) => !line.startsWith('BOOKMARK')),
      ['ADDED followed', 'MODIFIED followed', 'DELETED followed'],
    );
    await informer.stop();
    controller.abort();
  });

  it('runs commands with input and exit code', async () => {
    const [out, err] = [collected(), collected()];
    const input = new PassThrough();
    const status = Promise.withResolvers<V1Status>();
    await new Exec(config).exec(
      namespace,
      'web',
      'web',
      ['sh', '-c', 'read word; echo "got $word"; echo oops >&2; exit 4'],
      out.stream,
      err.stream,
      input,
      false,
      status.resolve,
    );
    input.write('hello\n');
    const { status: outcome, details, reason } = await status.promise;
    assert.deepEqual([outcome, reason, details?.causes?.[0]?.message], ['Failure', 'NonZeroExitCode', '4']);
    // Standard output and standard error are separate streams: either may arrive first.
    await cluster.until('all output', async () => out.text().length >= 10 && err.text().length >= 5);
    assert.deepEqual([out.text(), err.text()], ['got hello\n', 'oops\n']);
  });

  it('follows logs and forwards ports', async () => {
    const log = collected();
    await cluster.kubectl([
      'run',
      '-n',
      namespace,
      'brief',
      '--restart=Never',
      `--image=${images.test}`,
      '--',
      'sh',
      '-c',
      'echo one; while ! test -e /tmp/go; do sleep 0.1; done; echo two',
    ]);
    await cluster.kubectl(`wait -n ${namespace} --for=condition=Ready pod/brief --timeout=120s`);
    await new Log(config).log(namespace, 'brief', 'brief', log.stream, { follow: true });
    await cluster.until('the first line', async () => log.text() === 'one\n');
    await cluster.kubectl(`exec -n ${namespace} brief -- touch /tmp/go`);
    await cluster.until('the end of the log', async () => log.stream.writableEnded && log.text() === 'one\ntwo\n');
    const answer = collected();
    const input = new PassThrough();
    await new PortForward(config).portForward(namespace, 'web', [8080], answer.stream, null, input);
    input.write('GET /cgi-bin/hostname HTTP/1.0\r\n\r\n');
    await cluster.until('an answer', async () => /200 OK[^]*\r\n\r\nweb\n/.test(answer.text()));
  });
});
