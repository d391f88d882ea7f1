/** The error that a test gets when it fails: the line, the intended word, and the state of the cluster. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigMaps, Pods } from '../api/gen/resources.ts';
import { Cluster, image, WaitError, type ClusterOptions } from './index.ts';

const bare = { nodes: 0, controllers: [], scheduler: false } as const;

const SITES = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: sites.example.com }
spec:
  group: example.com
  names: { kind: Site, plural: sites }
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: { openAPIV3Schema: { type: object, properties: { spec: { type: object, properties: { title: { type: string } } } } } }
`;
const blog = { apiVersion: 'example.com/v1', kind: 'Site', metadata: { name: 'blog' }, spec: { title: 'mine' } };

/** The error of a call, with the first line of its stack that is not part of the message. */
async function failureOf(call: () => unknown): Promise<{ error: Error; message: string; frame: string }> {
  try {
    await call();
  } catch (caught) {
    const error = caught as Error;
    const frame = /^ {4}at .*/m.exec(error.stack ?? '')?.[0] ?? '';
    return { error, message: error.message, frame };
  }
  throw new assert.AssertionError({ message: 'it did not fail' });
}

describe('a misspelt word is refused with the word that was probably meant', () => {
  const options: readonly [object, RegExp][] = [
    [{ clok: 'real' }, /Cluster.start: clok: unknown field; did you mean clock\?/],
    [{ clock: 'rael' }, /Cluster.start: clock: "rael" is no one of virtual, real/],
    [{ nodes: [{ cpu: 2 }] }, /nodes\.0\.cpu: unknown field; did you mean cpus\?/],
    [{ nodes: [{ kubelet: { maxPod: 2 } }] }, /kubelet\.maxPod: unknown field; did you mean maxPods\?/],
    [{ controllers: ['deploymnt-controller'] }, /did you mean deployment-controller\?/],
    [{ images: [{ name: 'a:1', strat: '3s' }] }, /image a:1: strat: unknown field; did you mean start\?/],
  ];
  for (const [given, message] of options)
    it(`an option of a cluster: ${JSON.stringify(given)}`, async () =>
      assert.match((await failureOf(() => Cluster.start(given as ClusterOptions))).message, message));

  const images: readonly [object, RegExp][] = [
    [{ crash: true }, /image a:1: crash: unknown field; did you mean crashes\?/],
    [{ crashes: { code: 1, after: 0 } }, /image a:1: crashes: times is missing/],
    [{ http: { satus: 200 } }, /http\.satus: unknown field; did you mean status\?/],
    [{ run: true }, /run: true is no function/],
  ];
  for (const [given, message] of images)
    it(`a field of an image: ${JSON.stringify(given)}`, async () =>
      assert.match((await failureOf(() => image('a:1', given))).message, message));

  it('an option of a call, a kind, a version, a name', async () => {
    await using cluster = await Cluster.start(bare);
    await cluster.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' } });
    const calls: readonly [() => unknown, RegExp][] = [
      [() => cluster.waitFor('pod/a', 'Ready', { withn: 1 } as never), /waitFor: withn: .*did you mean within\?/],
      [() => cluster.events({ reson: 'x' } as never), /events: reson: .*did you mean reason\?/],
      [() => cluster.waitFor('deploymnt/a', 'Available'), /no kind deploymnt; did you mean deployment\?/],
      [
        () => cluster.apply({ apiVersion: 'v1', kind: 'Deployment', metadata: { name: 'a' } }),
        /no kind Deployment in v1; it is in apps\/v1/,
      ],
      [
        () => cluster.apply({ apiVersion: 'app/v1', kind: 'X', metadata: { name: 'a' } }),
        /no such version is served; did you mean apps\/v1\?/,
      ],
      [() => cluster.waitFor('configmap/setings', 'exists', { within: 1 }), /does not exist; did you mean settings\?/],
    ];
    for (const [call, message] of calls) assert.match((await failureOf(call)).message, message);
  });

  it('a field of an object, built in or custom, applied or created, unless another validation is set', async () => {
    await using cluster = await Cluster.start(bare);
    await cluster.apply(SITES);
    const spec = { containers: [{ name: 'c', image: 'i:1', imagPullPolicy: 'Always' }] };
    const pod = { metadata: { name: 'p', namespace: 'default' }, spec };
    const calls: readonly [() => unknown, RegExp][] = [
      [
        () => cluster.apply({ apiVersion: 'v1', kind: 'Pod', ...pod }),
        /imagPullPolicy.*\(did you mean "imagePullPolicy"\?\)/,
      ],
      [() => cluster.client.resource(Pods).create(pod), /imagPullPolicy.*\(did you mean "imagePullPolicy"\?\)/],
      [() => cluster.apply({ ...blog, spec: { titel: 'x' } }), /titel.*\(did you mean "title"\?\)/],
    ];
    for (const [call, message] of calls) assert.match((await failureOf(call)).message, message);
    const map = { metadata: { name: 'm', namespace: 'default' }, dat: {} };
    await cluster.client.resource(ConfigMaps).create(map, { fieldValidation: 'Ignore' });
    await using lenient = await Cluster.start({ ...bare, fieldValidation: 'Warn' });
    await lenient.client.resource(ConfigMaps).create(map);
  });
});

describe("a failed call shows the test's own line first", () => {
  const isHere = /failures\.test\.ts:\d+:\d+/;
  it('for every call', async () => {
    await using cluster = await Cluster.start({ nodes: 1 });
    const maps = cluster.client.resource(ConfigMaps);
    const calls: readonly (() => unknown)[] = [
      () => cluster.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: {} }),
      () => cluster.waitFor('pod/none', 'Ready', { within: 1 }),
      () => cluster.eventually(() => assert.fail('not so'), { within: 1 }),
      () => cluster.why('pod/none'),
      () => cluster.trace('pod/none'),
      () => maps.get({ namespace: 'default', name: 'none' }),
      () => maps.create({ metadata: { name: 'A', namespace: 'default' } }),
      () => maps.delete({ namespace: 'default', name: 'none' }),
      () => cluster.client.raw({ path: '/nowhere' }),
      () => cluster.nodes.drain('node-2'),
      () => cluster.clientFor({ name: 'ann', groups: [] }).resource(ConfigMaps).list(),
    ];
    for (const call of calls) {
      const { frame, error } = await failureOf(call);
      // An error thrown synchronously has frames of the library above the test's.
      if (error.constructor === Error) assert.match(error.stack!, isHere, String(call));
      else assert.match(frame, isHere, `${String(call)}\n${error.stack}`);
    }
  });
});

describe('after its end a cluster', () => {
  it('rejects every call, and every pending wait, with the reason that it has stopped', async () => {
    const cluster = await Cluster.start({ nodes: 1 });
    const { client, nodes, faults } = cluster;
    const waiting = failureOf(() => cluster.waitFor('pod/none', 'Ready'));
    await cluster.stop();
    assert.match((await waiting).message, /pod default\/none: the cluster was stopped while this call waited/);
    const calls: readonly (() => unknown)[] = [
      () => cluster.apply([]),
      () => cluster.advance('1m'),
      () => cluster.waitFor('pod/none', 'Ready'),
      () => cluster.listen(),
      () => cluster.events(),
      () => cluster.image('a:1'),
      () => client.resource(ConfigMaps).list(),
      () => client.raw({ path: '/version' }),
      () => nodes.add(),
      () => nodes.crash('node-1'),
      () => faults.restart('apiserver'),
    ];
    for (const call of calls)
      assert.match(
        (await failureOf(call)).message,
        /^the cluster is stopped: \S+ was called after stop\(\)/,
        String(call),
      );
    assert.ok(cluster.eventLog().count > 0);
    await cluster.stop();
  });
});

it('a failed wait shows spec and status of a custom resource, its dependents, the explanation, exit codes, last log lines and events', async () => {
  const crashing = image('bad:1', { logs: ['boom: no DATABASE_URL'], exits: { code: 3, after: 0 } });
  await using cluster = await Cluster.start({ nodes: 1, images: [crashing] });
  const [, site] = await cluster.apply(SITES).then(async () => [undefined, ...(await cluster.apply(blog))]);
  const owner = { apiVersion: 'example.com/v1', kind: 'Site', name: 'blog', uid: site!.metadata.uid };
  const labels = { app: 'blog' };
  await cluster.apply({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'blog', ownerReferences: [owner] },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'bad:1' }] } },
    },
  });
  const { error, message } = await failureOf(() => cluster.waitFor('site/blog', 'Ready', { within: '1m' }));
  assert.ok(error instanceof WaitError);
  for (const part of [
    /^site default\/blog is not Ready after 1m0s/,
    /\n {2}spec:\n {4}title: mine\n/,
    /\nwhy:\n {2}site\.example\.com\/default\/blog /,
    /\n {2}deployment\S*\/default\/blog .*\n(.*\n)*.*\[CrashLoop, pod\//,
    /\nowns:\n {2}deployment\/blog 0\/1 ready.*\n {4}replicaset\/blog-/,
    /container c: ready=false .*CrashLoopBackOff.*exit code 3/,
    /\nlast lines of blog-.*, container c:\n {2}\| boom: no DATABASE_URL\n/,
    /ScalingReplicaSet Deployment\/blog/,
  ])
    assert.match(message, part);
});
