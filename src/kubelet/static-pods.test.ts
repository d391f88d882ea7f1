/** Static pods and their mirrors, over the whole core on virtual time. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { Pods } from '../api/gen/resources.ts';
import { createKubeletFixture, type KubeletFixture } from './testing/kubelet-fixture.ts';

const running: KubeletFixture[] = [];
const config = { staticPodPath: '/etc/kubernetes/manifests' };

function manifest(image: string): string {
  return `apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  restartPolicy: Always
  terminationGracePeriodSeconds: 5
  containers: [{ name: app, image: ${image} }]
`;
}

async function withManifest(image: string): Promise<KubeletFixture> {
  const fixture = createKubeletFixture({ config });
  running.push(fixture);
  await fixture.platform.files.makeDir(config.staticPodPath);
  await fixture.platform.files.writeFile(`${config.staticPodPath}/web.yaml`, manifest(image));
  await fixture.start();
  await fixture.platform.clock.runUntil(() => fixture.summary('web-node-1') === 'Running true', 30_000);
  return fixture;
}

afterEach(async () => {
  for (const fixture of running.splice(0)) await fixture.stop();
});

describe('static pods', () => {
  it('run from a manifest and show as mirror pods', async () => {
    const { pod, cluster } = await withManifest('one');
    const mirror = pod('web-node-1');
    const annotations = mirror?.metadata.annotations ?? {};
    assert.equal(annotations['kubernetes.io/config.source'], 'file');
    assert.equal(annotations['kubernetes.io/config.mirror'], annotations['kubernetes.io/config.hash']);
    assert.match(annotations['kubernetes.io/config.seen'] ?? '', /^2026-01-01T00:00:/);
    assert.equal(mirror?.metadata.ownerReferences?.[0]?.kind, 'Node');
    assert.notEqual(mirror?.metadata.uid, annotations['kubernetes.io/config.hash'], 'the mirror has a uid of its own');
    assert.equal(mirror?.spec?.nodeName, 'node-1');
    assert.deepEqual(cluster.list(Pods).length, 1);
  });

  it('are replaced when the manifest changes, the old one first', async () => {
    const fixture = await withManifest('one');
    fixture.runtime.scripts.set('app', { stopMs: 1_500 });
    const before = fixture.pod('web-node-1')?.metadata.uid;
    fixture.runtime.calls.length = 0;
    await fixture.platform.files.writeFile(`${config.staticPodPath}/web.yaml`, manifest('two'));
    await fixture.platform.clock.runUntil(
      () =>
        fixture.pod('web-node-1')?.spec?.containers[0]?.image === 'two' &&
        fixture.summary('web-node-1') === 'Running true',
      60_000,
    );
    const acts = fixture.runtime.calls.filter((call) => !call.startsWith('sync') && !call.startsWith('delete'));
    assert.deepEqual(acts, ['kill web-node-1 5', 'start web-node-1/app']);
    assert.notEqual(fixture.pod('web-node-1')?.metadata.uid, before);
    assert.deepEqual(fixture.runtime.running(), ['web-node-1/app']);
  });

  it('end when the manifest goes, and their mirror with them', async () => {
    const fixture = await withManifest('one');
    await fixture.platform.files.remove(`${config.staticPodPath}/web.yaml`);
    await fixture.platform.clock.runUntil(() => fixture.pod('web-node-1') === undefined, 60_000);
    assert.deepEqual(fixture.runtime.running(), []);
  });

  it('get a new mirror when it was deleted, and keep running', async () => {
    const fixture = await withManifest('one');
    fixture.runtime.calls.length = 0;
    fixture.cluster.drop(Pods, { namespace: 'default', name: 'web-node-1' });
    await fixture.platform.clock.runUntil(() => fixture.summary('web-node-1') === 'Running true', 60_000);
    assert.deepEqual(
      fixture.runtime.calls.filter((call) => !call.startsWith('sync')),
      [],
    );
  });

  it('come back under the same uid after a short absence', async () => {
    const fixture = await withManifest('one');
    const path = `${config.staticPodPath}/web.yaml`;
    fixture.runtime.scripts.set('app', { stopMs: 3_000 });
    fixture.runtime.calls.length = 0;
    await fixture.platform.files.remove(path);
    await fixture.platform.clock.advance(500);
    await fixture.platform.files.writeFile(path, manifest('one'));
    await fixture.platform.clock.runUntil(() => fixture.runtime.calls.includes('start web-node-1/app'), 60_000);
    const acts = fixture.runtime.calls.filter((call) => /^(kill|start)/.test(call));
    assert.deepEqual(acts, ['kill web-node-1 5', 'start web-node-1/app']);
  });

  it('leave the others alone when one manifest is broken', async () => {
    const fixture = await withManifest('one');
    await fixture.platform.files.writeFile(`${config.staticPodPath}/bad.yaml`, 'kind: [');
    await fixture.platform.files.writeFile(
      `${config.staticPodPath}/worse.yaml`,
      'apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n',
    );
    await fixture.platform.clock.advance(60_000);
    assert.deepEqual(fixture.runtime.running(), ['web-node-1/app']);
  });
});
