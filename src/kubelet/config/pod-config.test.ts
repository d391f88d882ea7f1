/** Operations that result from changes of pods, per source. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import { isCriticalPod, isStaticPod, podSource, type PodUpdate } from '../types/pod-update.ts';
import { classifyChange, createPodConfig } from './pod-config.ts';
import { createSourcesReady } from './sources-ready.ts';
import { ManifestError, podsOfManifest, staticPodOf } from './static-pod.ts';

function pod(name: string, changes: { metadata?: Pod['metadata']; phase?: string; image?: string } = {}): Pod {
  return {
    metadata: { name, namespace: 'default', uid: name, ...changes.metadata },
    spec: { containers: [{ name: 'app', image: changes.image ?? 'one' }] },
    ...(changes.phase === undefined ? {} : { status: { phase: changes.phase } }),
  };
}

describe('changes of a pod', () => {
  const cases: readonly { name: string; before: Pod; after: Pod; op: string | undefined }[] = [
    { name: 'none', before: pod('a'), after: pod('a', { metadata: { resourceVersion: '2' } }), op: undefined },
    { name: 'status', before: pod('a'), after: pod('a', { phase: 'Running' }), op: 'RECONCILE' },
    { name: 'spec', before: pod('a'), after: pod('a', { image: 'two' }), op: 'UPDATE' },
    { name: 'labels', before: pod('a'), after: pod('a', { metadata: { labels: { a: 'b' } } }), op: 'UPDATE' },
    { name: 'annotations', before: pod('a'), after: pod('a', { metadata: { annotations: { a: 'b' } } }), op: 'UPDATE' },
    {
      name: 'our own annotations',
      before: pod('a'),
      after: pod('a', { metadata: { annotations: { 'kubernetes.io/config.seen': 'x' } } }),
      op: undefined,
    },
    { name: 'deletion', before: pod('a'), after: pod('a', { metadata: { deletionTimestamp: 't' } }), op: 'DELETE' },
    {
      name: 'shorter grace',
      before: pod('a', { metadata: { deletionTimestamp: 't', deletionGracePeriodSeconds: 30 } }),
      after: pod('a', { metadata: { deletionTimestamp: 't', deletionGracePeriodSeconds: 1 } }),
      op: 'DELETE',
    },
  ];
  for (const { name, before, after, op } of cases) it(name, () => assert.equal(classifyChange(before, after), op));
});

function collect(): { updates: string[]; send: (update: PodUpdate) => void } {
  const updates: string[] = [];
  return {
    updates,
    send: ({ op, source, pods }) =>
      void updates.push(`${source} ${op} ${pods.map(({ metadata }) => metadata.name).join(',')}`.trim()),
  };
}

describe('pod configuration', () => {
  it('returns the difference between two sets, removals first', () => {
    const { updates, send } = collect();
    const source = createPodConfig(send).source('file');
    source.set([pod('a'), pod('b'), pod('c')]);
    source.set([pod('b', { image: 'two' }), pod('c', { phase: 'Running' }), pod('d')]);
    assert.deepEqual(updates, ['file ADD a,b,c', 'file REMOVE a', 'file ADD d', 'file UPDATE b', 'file RECONCILE c']);
  });

  it('treats a pod that becomes a mirror, or ceases to be one, as another pod', () => {
    const { updates, send } = collect();
    const source = createPodConfig(send).source('api');
    const mirror = pod('a', { metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } } });
    source.set([pod('a')]);
    source.upsert(mirror);
    source.set([pod('a')]);
    assert.deepEqual(updates, ['api ADD a', 'api REMOVE a', 'api ADD a', 'api REMOVE a', 'api ADD a']);
  });

  const ANNOTATIONS: readonly (Record<string, string> | undefined)[] = [
    undefined,
    ...['api', 'file', 'http', '*', ''].flatMap((source): Record<string, string>[] => [
      { 'kubernetes.io/config.source': source },
      { 'kubernetes.io/config.source': source, 'kubernetes.io/config.mirror': 'x' },
    ]),
  ];
  for (const name of ['api', 'file', 'http'] as const)
    it(`marks every pod of source ${name}, whatever its annotation says`, () => {
      const seen: Pod[] = [];
      const source = createPodConfig(({ pods }) => seen.push(...pods)).source(name);
      source.set(ANNOTATIONS.map((annotations, index) => pod(`a${index}`, { metadata: { annotations } })));
      for (const [index, annotations] of ANNOTATIONS.entries())
        source.upsert(pod(`b${index}`, { metadata: { annotations } }));
      assert.equal(seen.length, 2 * ANNOTATIONS.length);
      for (const one of seen) {
        const text = JSON.stringify(one.metadata);
        assert.equal(podSource(one), name, text);
        assert.equal(isStaticPod(one), name !== 'api', text);
        // Of the pods of the API server, mirrors alone are critical without a priority.
        const isMirror = one.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined;
        assert.equal(isCriticalPod(one), name !== 'api' || isMirror, text);
      }
    });

  it('returns single changes', () => {
    const { updates, send } = collect();
    const source = createPodConfig(send).source('api');
    source.set([]);
    source.upsert(pod('a'));
    source.upsert(pod('a'));
    source.upsert(pod('a', { metadata: { deletionTimestamp: 't' } }));
    source.remove('a');
    source.remove('a');
    assert.deepEqual(updates, ['api ADD', 'api ADD a', 'api DELETE a', 'api REMOVE a']);
  });

  it('is ready when every source has delivered its pods', () => {
    const config = createPodConfig(() => undefined);
    const ready = createSourcesReady(config.sources);
    config.source('api');
    config.source('file');
    assert.equal(ready.allReady(), false);
    ready.addSource('api');
    assert.equal(ready.allReady(), false);
    ready.addSource('file');
    assert.equal(ready.allReady(), true);
  });
});

describe('static pods of manifests', () => {
  const origin = {
    source: 'file' as const,
    location: '/m/web.yaml',
    nodeName: 'Node-1',
    nowMs: 0,
    sha256Hex: (data: string) => `${data.length}`.padStart(64, 'f'),
  };
  const manifest: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web' },
    spec: { containers: [{ name: 'app' }] },
  };

  it('are named after the node, bound to it, and bear all NoExecute taints', () => {
    const made = staticPodOf(manifest, origin);
    assert.equal(made.metadata.name, 'web-node-1');
    assert.equal(made.metadata.namespace, 'default');
    assert.equal(made.spec?.nodeName, 'Node-1');
    assert.equal(made.metadata.uid?.length, 32);
    assert.equal(made.metadata.annotations?.['kubernetes.io/config.hash'], made.metadata.uid);
    assert.deepEqual(made.spec?.tolerations, [{ operator: 'Exists', effect: 'NoExecute' }]);
    assert.deepEqual(made.status, { phase: 'Pending' });
    assert.equal(manifest.metadata.name, 'web', 'the manifest is left as it is');
  });

  it('need nothing of the API server', () => {
    const spec = { ...manifest.spec!, serviceAccountName: 'a' };
    assert.throws(() => staticPodOf({ ...manifest, spec }, origin), {
      name: 'ManifestError',
      message: 'static pods may not reference serviceaccounts',
    });
  });

  it('keep a uid of their own', () => {
    assert.equal(staticPodOf({ ...manifest, metadata: { name: 'web', uid: 'mine' } }, origin).metadata.uid, 'mine');
  });

  const bad: readonly { name: string; value: unknown; message: RegExp }[] = [
    { name: 'nothing', value: null, message: /not an object/ },
    { name: 'text', value: 'x', message: /not an object/ },
    { name: 'another kind', value: { apiVersion: 'v1', kind: 'Secret', metadata: {} }, message: /kind Secret/ },
    { name: 'no metadata', value: { apiVersion: 'v1', kind: 'Pod', spec: {} }, message: /metadata is missing/ },
    { name: 'no spec', value: { apiVersion: 'v1', kind: 'Pod', metadata: {} }, message: /spec is missing/ },
    {
      name: 'a broken item of a list',
      value: { kind: 'PodList', items: [{ metadata: {} }] },
      message: /spec is missing/,
    },
  ];
  for (const { name, value, message } of bad) {
    it(`refuse ${name}`, () =>
      assert.throws(
        () => podsOfManifest(value),
        (error) => error instanceof ManifestError && message.test(error.message),
      ));
  }

  it('may be lists too', () => {
    assert.equal(
      podsOfManifest({
        kind: 'PodList',
        items: [
          { metadata: { name: 'a' }, spec: {} },
          { metadata: { name: 'b' }, spec: {} },
        ],
      }).length,
      2,
    );
  });
});
