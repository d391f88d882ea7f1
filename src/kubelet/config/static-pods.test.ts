/** Static pods and their mirrors, over the whole core on virtual time. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { Nodes, Pods } from '../../api/gen/resources.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createKubeletFixture, type KubeletFixture } from '../fixtures/kubelet-fixture.ts';

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

describe('manifests of a folder that cannot be watched', () => {
  it('are read every fileCheckFrequency', async () => {
    const platform = createSimPlatform();
    const watch = (): never => {
      throw new Error('inotify watch limit reached');
    };
    const blind = { ...platform, files: { ...platform.files, watch } };
    const fixture = createKubeletFixture({ platform: blind, config: { ...config, fileCheckFrequencyMs: 20_000 } });
    running.push(fixture);
    await platform.files.makeDir(config.staticPodPath);
    await fixture.start();
    await platform.files.writeFile(`${config.staticPodPath}/web.yaml`, manifest('one'));
    const sinceMs = platform.clock.monotonicMs();
    await platform.clock.runUntil(() => fixture.summary('web-node-1') === 'Running true', 60_000);
    assert.equal(Math.floor((platform.clock.monotonicMs() - sinceMs) / 1000), 20);
  });
});

/** A server of manifests, which responds with `text` and records the headers of requests. */
async function withUrl(staticPodUrl = 'http://10.0.0.1:9090/pods'): Promise<{
  readonly fixture: KubeletFixture;
  readonly asked: { readonly atMs: number; readonly token: unknown }[];
  readonly server: { status: number; text: string };
}> {
  const fixture = createKubeletFixture({ config: { staticPodUrl, staticPodUrlHeaders: { 'x-token': 'secret' } } });
  running.push(fixture);
  const { clock } = fixture.platform;
  const asked: { atMs: number; token: unknown }[] = [];
  const server = { status: 200, text: manifest('one') };
  await fixture.platform.listenHttp({ host: '10.0.0.1', port: 9090 }, ({ headers }) => {
    asked.push({ atMs: clock.monotonicMs(), token: headers['x-token'] });
    return { kind: 'bytes', status: server.status, headers: {}, chunks: [Buffer.from(server.text)] };
  });
  await fixture.start();
  await clock.runUntil(() => fixture.summary('web-node-1') === 'Running true', 30_000);
  return { fixture, asked, server };
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

  it('end when the manifest is removed, with their mirror pods', async () => {
    const fixture = await withManifest('one');
    await fixture.platform.files.remove(`${config.staticPodPath}/web.yaml`);
    await fixture.platform.clock.runUntil(() => fixture.pod('web-node-1') === undefined, 60_000);
    assert.deepEqual(fixture.runtime.running(), []);
  });

  it('get a new mirror when it was deleted, and keep running', async () => {
    const fixture = await withManifest('one');
    fixture.runtime.calls.length = 0;
    fixture.cluster.drop(Pods, { namespace: 'default', name: 'web-node-1' });
    assert.equal(fixture.pod('web-node-1'), undefined);
    await fixture.platform.clock.advance(1000);
    assert.equal(fixture.summary('web-node-1'), 'Running true');
    assert.deepEqual(
      fixture.runtime.calls.filter((call) => !call.startsWith('sync')),
      [],
    );
  });

  it('get a new mirror pod at once when their node was deleted with its pods and is registered again', async () => {
    const fixture = await withManifest('one');
    const { clock } = fixture.platform;
    for (const round of [1, 2]) {
      // The mirror pod is deleted while there is no Node that could own a new one.
      fixture.cluster.failures.set('create nodes', new Error('not now'));
      fixture.cluster.drop(Nodes, { name: 'node-1' });
      fixture.cluster.drop(Pods, { namespace: 'default', name: 'web-node-1' });
      await clock.advance(3000);
      fixture.cluster.failures.delete('create nodes');
      await clock.runUntil(() => fixture.cluster.list(Nodes).length === 1, 60_000);
      await clock.advance(2000);
      assert.equal(fixture.summary('web-node-1'), 'Running true', `round ${round}`);
      const owner = fixture.pod('web-node-1')?.metadata.ownerReferences?.[0]?.uid;
      assert.equal(owner, fixture.cluster.list(Nodes)[0]?.metadata.uid, `round ${round}`);
    }
  });

  it('return with the same uid after a short absence', async () => {
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

describe('static pods from a URL', () => {
  it('run, have mirror pods, and are requested with the headers every httpCheckFrequency', async () => {
    const { fixture, asked } = await withUrl();
    const annotations = fixture.pod('web-node-1')?.metadata.annotations ?? {};
    assert.equal(annotations['kubernetes.io/config.source'], 'http');
    await fixture.platform.clock.advance(40_000);
    assert.deepEqual([...new Set(asked.map(({ token }) => token))], ['secret']);
    const gaps = asked.slice(1).map(({ atMs }, at) => atMs - asked[at]!.atMs);
    assert.deepEqual(gaps, [20_000, 20_000]);
  });

  it('follow the response of the URL, which may be a list', async () => {
    const { fixture, server } = await withUrl();
    const other = manifest('two').replace('name: web', 'name: other');
    server.text = `apiVersion: v1\nkind: PodList\nitems:\n${[other]
      .map((text) => `- ${text.trimEnd().replaceAll('\n', '\n  ')}`)
      .join('\n')}\n`;
    await fixture.platform.clock.runUntil(
      () => fixture.pod('web-node-1') === undefined && fixture.summary('other-node-1') === 'Running true',
      120_000,
    );
    assert.deepEqual(fixture.runtime.running(), ['other-node-1/app']);
  });

  it('stay while the URL does not respond, or its response is empty', async () => {
    const { fixture, server } = await withUrl();
    for (const answer of [
      { status: 503, text: 'later' },
      { status: 200, text: '' },
      { status: 200, text: 'kind: [' },
    ]) {
      Object.assign(server, answer);
      await fixture.platform.clock.advance(60_000);
      assert.deepEqual(fixture.runtime.running(), ['web-node-1/app'], JSON.stringify(answer));
    }
  });
});
