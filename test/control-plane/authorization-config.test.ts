/**
 * `--authorization-config` and `--authentication-config`, with kubectl: webhooks in order among the authorizers, with match
 * conditions; paths that permit anonymous requests.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type ControlPlaneFixture, startControlPlane } from './control-plane-fixture.ts';
import { startWebhookServer, type WebhookServer } from './webhook-server.ts';

let plane: ControlPlaneFixture;
let hooks: WebhookServer;
let directory: string;

function kubeconfig(path: string): string {
  const server = `https://127.0.0.1:${hooks.port}${path}`;
  return JSON.stringify({
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': hooks.caBundle } }],
    users: [{ name: 'u', user: {} }],
  });
}

function configuration(): string {
  const webhook = (name: string, failurePolicy: string, expression: string) => ({
    type: 'Webhook',
    name,
    webhook: {
      timeout: '30s',
      subjectAccessReviewVersion: 'v1',
      matchConditionSubjectAccessReviewVersion: 'v1',
      failurePolicy,
      connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: join(directory, `${name}.kubeconfig`) },
      matchConditions: [{ expression: 'has(request.resourceAttributes)' }, { expression }],
    },
  });
  return JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthorizationConfiguration',
    authorizers: [
      webhook('gate', 'Deny', 'request.resourceAttributes.namespace == "guarded"'),
      { type: 'RBAC', name: 'rbac' },
      webhook('last', 'NoOpinion', 'request.user == "ann"'),
    ],
  });
}

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'keelson-authorization-'));
  hooks = await startWebhookServer();
  const answer = (status: object) => ({ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', status });
  hooks.on('/gate', (spec) =>
    answer({ allowed: false, denied: spec.resourceAttributes?.verb === 'list', reason: 'guarded' }),
  );
  hooks.on('/last', () => answer({ allowed: true }));
  await writeFile(join(directory, 'gate.kubeconfig'), kubeconfig('/gate'));
  await writeFile(join(directory, 'last.kubeconfig'), kubeconfig('/last'));
  await writeFile(join(directory, 'authorization.yaml'), configuration());
  const authentication = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthenticationConfiguration' };
  const anonymous = { enabled: true, conditions: [{ path: '/livez' }] };
  await writeFile(join(directory, 'authentication.yaml'), JSON.stringify({ ...authentication, anonymous }));
  await writeFile(join(directory, 'tokens.csv'), 'ann-token,ann,1\nbob-token,bob,2\n');
  const at = (name: string): string => join(directory, name);
  plane = await startControlPlane({
    components: false,
    flags: {
      'token-auth-file': at('tokens.csv'),
      'authorization-config': at('authorization.yaml'),
      'authentication-config': at('authentication.yaml'),
    },
  });
});

after(async () => {
  await plane.stop();
  await hooks.close();
  await rm(directory, { recursive: true });
});

function bearing(token: string, ...args: string[]): ReturnType<ControlPlaneFixture['kubectl']> {
  const server = `--server=https://127.0.0.1:${plane.port}`;
  return plane.kubectl(['--kubeconfig=/dev/null', server, '--insecure-skip-tls-verify', `--token=${token}`, ...args]);
}

test('webhooks are called in order, when their conditions match', async () => {
  const asked = (path: string): number => hooks.seen.filter((one) => one.path === path).length;
  const plain = await bearing('ann-token', 'get', 'configmaps', '-n', 'default');
  assert.equal(plain.code, 0, plain.stderr);
  assert.equal(asked('/gate'), 0);
  assert.ok(asked('/last') > 0);
  const before = asked('/last');
  const guarded = await bearing('ann-token', 'get', 'configmaps', '-n', 'guarded');
  assert.match(guarded.stderr, /cannot list resource "configmaps".*in the namespace "guarded": guarded/);
  assert.ok(asked('/gate') > 0);
  const other = await bearing('bob-token', 'get', 'configmaps', '-n', 'default');
  assert.match(other.stderr, /User "bob" cannot list resource "configmaps"/);
  assert.equal(asked('/last'), before, 'neither those refused before it, nor others are asked about');
  // No webhook can refuse the administrator.
  assert.equal((await plane.kubectl(['get', 'configmaps', '-n', 'guarded'])).code, 0);
});

test('anonymous requests are limited to the paths of the configuration', async () => {
  const statusOf = (path: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: plane.port, path, ca: plane.tls.ca, agent: false };
      get(options, (incoming) => resolve(incoming.resume().statusCode)).on('error', reject);
    });
  assert.deepEqual([await statusOf('/livez'), await statusOf('/version')], [200, 401]);
});
