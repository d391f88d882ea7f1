import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { ForeignEntryError, mergeCluster, ownContexts, removeCluster, type KubeconfigEntry } from './merge.ts';

const entry = (name: string, dataDir = `/data/${name}`, server = 'https://127.0.0.1:6443'): KubeconfigEntry => ({
  name,
  dataDir,
  cluster: { server },
  user: { token: `${name}-token` },
});
const alive = (): boolean => false;
const OTHERS = `# mine
apiVersion: v1
kind: Config
clusters:
- name: prod # keep
  cluster: {server: https://prod}
contexts:
- name: prod
  context: {cluster: prod, user: bob}
current-context: prod
users: []
preferences: {colors: true}
`;

test('an empty file becomes a kubeconfig with one context, which is current', () => {
  const config = parse(mergeCluster('', entry('dev'), alive)) as Record<string, unknown>;
  assert.deepEqual([config['kind'], config['current-context']], ['Config', 'dev']);
  assert.deepEqual(config['clusters'], [{ name: 'dev', cluster: { server: 'https://127.0.0.1:6443' } }]);
});

test('entries of others stay, comments and unknown keys included, and the file is as before once the cluster is removed', () => {
  const merged = mergeCluster(OTHERS, entry('dev'), alive);
  assert.match(merged, /^# mine\n/);
  assert.match(merged, /name: prod # keep\n/);
  assert.equal((parse(merged) as Record<string, unknown>)['current-context'], 'dev');
  const after = removeCluster(merged, '/data/dev');
  assert.deepEqual(parse(after), parse(OTHERS));
});

test('a second merge changes nothing; a changed port changes the cluster and leaves the current context and namespace', () => {
  const once = mergeCluster(OTHERS, entry('dev'), alive);
  assert.equal(mergeCluster(once, entry('dev'), alive), once);
  const used = once
    .replace('current-context: dev', 'current-context: prod')
    .replace('    user: dev', '    namespace: web\n    user: dev');
  const moved = parse(mergeCluster(used, entry('dev', '/data/dev', 'https://127.0.0.1:7000'), alive)) as {
    clusters: unknown[];
    contexts: { context: { namespace?: string } }[];
    'current-context': string;
  };
  assert.deepEqual(moved.clusters[1], { name: 'dev', cluster: { server: 'https://127.0.0.1:7000' } });
  assert.deepEqual([moved['current-context'], moved.contexts[1]?.context.namespace], ['prod', 'web']);
});

test('entries of others and of existing clusters are not replaced; those of a deleted cluster are', () => {
  for (const [list, what] of [
    ['contexts', 'context'],
    ['clusters', 'cluster'],
    ['users', 'user'],
  ] as const)
    assert.throws(
      () => mergeCluster(`${list}: [{name: dev, ${what}: {}}]\n`, entry('dev'), alive),
      (error: Error) => error instanceof ForeignEntryError && error.message.includes(`it has a ${what} dev that`),
    );
  const first = mergeCluster('', entry('dev', '/data/a'), alive);
  assert.throws(
    () => mergeCluster(first, entry('dev', '/data/b'), alive),
    /of the cluster in \/data\/a: give one another/,
  );
  const over = mergeCluster(first, entry('dev', '/data/b'), () => true);
  assert.deepEqual(
    ownContexts(over).map((context) => context['data-dir']),
    ['/data/b'],
  );
});

test('the previous context is restored whichever of two clusters is removed first', () => {
  const both = mergeCluster(mergeCluster(OTHERS, entry('a'), alive), entry('b'), alive);
  for (const order of [
    ['a', 'b'],
    ['b', 'a'],
  ]) {
    const left = order.reduce((text, name) => removeCluster(text, `/data/${name}`), both);
    assert.deepEqual(parse(left), parse(OTHERS), order.join());
  }
});

test('a renamed cluster has one context, current as before, and restores the previous one at its end', () => {
  const renamed = mergeCluster(mergeCluster(OTHERS, entry('a', '/data'), alive), entry('b', '/data'), alive);
  assert.deepEqual(
    ownContexts(renamed).map(({ name }) => name),
    ['b'],
  );
  const config = parse(renamed) as { clusters: unknown[]; users: unknown[]; 'current-context': string };
  assert.deepEqual([config.clusters.length, config.users.length, config['current-context']], [2, 1, 'b']);
  assert.deepEqual(parse(removeCluster(renamed, '/data')), parse(OTHERS));
  const unused = mergeCluster(OTHERS, entry('a', '/data'), alive).replace(
    'current-context: a',
    'current-context: prod',
  );
  assert.match(mergeCluster(unused, entry('b', '/data'), alive), /current-context: prod/);
});

test('a previous context is restored under its new name after a rename', () => {
  const both = mergeCluster(mergeCluster(OTHERS, entry('a'), alive), entry('c'), alive);
  const renamed = mergeCluster(both, entry('b', '/data/a'), alive);
  assert.equal((parse(removeCluster(renamed, '/data/c')) as { 'current-context': string })['current-context'], 'b');
});

test('contexts of several names of one cluster, as former versions left them, go with it in any order', () => {
  const both = mergeCluster(mergeCluster(OTHERS, entry('a'), alive), entry('b'), alive);
  for (const text of [both.replaceAll('data-dir: /data/b', 'data-dir: /data/a'), reversed(both)]) {
    assert.deepEqual(parse(removeCluster(text, '/data/a')), parse(OTHERS));
    const merged = mergeCluster(text, entry('b', '/data/a'), alive);
    assert.equal(ownContexts(merged)[0]?.['previous-context'], 'prod');
    assert.deepEqual(parse(removeCluster(merged, '/data/a')), parse(OTHERS));
  }
});

function reversed(text: string): string {
  const config = parse(text.replaceAll('data-dir: /data/b', 'data-dir: /data/a')) as { contexts: unknown[] };
  return JSON.stringify({ ...config, contexts: config.contexts.toReversed() });
}

test('a context of Keelson is not removed for another data directory', () => {
  const merged = mergeCluster(OTHERS, entry('dev'), alive);
  assert.equal(removeCluster(merged, '/data/other'), merged);
});

for (const [text, says] of [
  ['a: [', /it is no YAML/],
  ['- a\n', /it is no kubeconfig/],
] as const)
  test(`${JSON.stringify(text)} is left alone`, () =>
    assert.throws(() => mergeCluster(text, entry('dev'), alive), says));
