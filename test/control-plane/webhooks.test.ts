/** Admission webhooks with an unmodified kubectl: a real TLS server in this process, configurations by kubectl. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { type ControlPlaneFixture, startControlPlane } from './control-plane-fixture.ts';
import { patchOf, startWebhookServer, type WebhookServer } from './webhook-server.ts';

let plane: ControlPlaneFixture;
let hooks: WebhookServer;

before(async () => {
  [plane, hooks] = await Promise.all([startControlPlane(), startWebhookServer(['hook.default.svc'])]);
});
after(async () => {
  await hooks.close();
  await plane.stop();
});
beforeEach(async () => {
  const said = await plane.kubectl([
    'delete',
    'validatingwebhookconfigurations,mutatingwebhookconfigurations',
    '--all',
  ]);
  assert.equal(said.code, 0, said.stderr);
});

type Kind = 'Validating' | 'Mutating';

function configuration(kind: Kind, path: string, more: object = {}): string {
  const webhook = {
    name: `${path.slice(1)}.example.com`,
    clientConfig: { url: `https://127.0.0.1:${hooks.port}${path}`, caBundle: hooks.caBundle },
    rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] }],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    ...more,
  };
  return JSON.stringify({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: `${kind}WebhookConfiguration`,
    metadata: { name: path.slice(1) },
    webhooks: [webhook],
  });
}

async function apply(text: string): Promise<void> {
  const said = await plane.kubectl(['apply', '-f', '-'], text);
  assert.equal(said.code, 0, said.stderr);
}

test("a denial is printed with upstream's text, together with a warning", async () => {
  hooks.on('/deny', () => ({
    allowed: false,
    status: { message: 'no maps today' },
    warnings: ['maps are going away'],
  }));
  await apply(configuration('Validating', '/deny'));
  const said = await plane.kubectl(['create', 'configmap', 'a', '--from-literal=a=b']);
  assert.equal(said.code, 1);
  assert.match(said.stderr, /^Warning: maps are going away$/m);
  assert.match(said.stderr, /admission webhook "deny.example.com" denied the request: no maps today/);
  const { review } = hooks.seen.at(-1)!;
  assert.equal(review.request.operation, 'CREATE');
  assert.deepEqual(review.request.requestKind, { group: '', version: 'v1', kind: 'ConfigMap' });
  assert.equal(review.request.userInfo.username, 'kubernetes-admin');
  assert.equal(review.request.options.kind, 'CreateOptions');
  assert.equal(review.request.object.data.a, 'b');
});

test('patches change the stored object, and connections are kept', async () => {
  hooks.on('/patch', ({ object }) =>
    object === null ? { allowed: true } : patchOf([{ op: 'add', path: '/data/added', value: 'yes' }]),
  );
  await apply(configuration('Mutating', '/patch'));
  const before = hooks.connections();
  for (const name of ['p1', 'p2', 'p3'])
    assert.equal((await plane.kubectl(['create', 'configmap', name, '--from-literal=a=b'])).code, 0);
  const said = await plane.kubectl(['get', 'configmap', 'p3', '-o', 'jsonpath={.data}']);
  assert.equal(said.stdout, '{"a":"b","added":"yes"}');
  assert.ok(hooks.connections() - before <= 1, `${hooks.connections() - before} new connections`);
});

test('an unreachable webhook fails closed or open, according to its policy', async () => {
  const gone = { clientConfig: { url: 'https://127.0.0.1:1/gone', caBundle: hooks.caBundle } };
  await apply(configuration('Validating', '/gone', { ...gone, timeoutSeconds: 3 }));
  const closed = await plane.kubectl(['create', 'configmap', 'closed']);
  assert.match(
    closed.stderr,
    /Internal error occurred: failed calling webhook "gone.example.com": failed to call webhook: Post "https:\/\/127.0.0.1:1\/gone\?timeout=3s": dial tcp 127.0.0.1:1: connect: connection refused/,
  );
  await apply(configuration('Validating', '/gone', { ...gone, failurePolicy: 'Ignore' }));
  assert.equal((await plane.kubectl(['create', 'configmap', 'open'])).code, 0);
});

test('a certificate of another authority is refused', async () => {
  const other = await startWebhookServer();
  try {
    const clientConfig = { url: `https://127.0.0.1:${hooks.port}/x`, caBundle: other.caBundle };
    await apply(configuration('Validating', '/x', { clientConfig }));
    const said = await plane.kubectl(['create', 'configmap', 'untrusted']);
    assert.match(said.stderr, /tls: failed to verify certificate: x509: certificate signed by unknown authority/);
  } finally {
    await other.close();
  }
});

test('a service is reached through its endpoints, with its own server name', async () => {
  hooks.on('/svc', () => ({ allowed: false, status: { message: 'via service' } }));
  const { admin } = plane;
  await admin.raw({
    method: 'POST',
    path: '/api/v1/namespaces/default/services',
    body: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'hook' },
      spec: { type: 'ExternalName', externalName: '127.0.0.1', ports: [{ port: hooks.port }] },
    },
  });
  const service = { namespace: 'default', name: 'hook', path: '/svc', port: hooks.port };
  await apply(configuration('Validating', '/svc', { clientConfig: { service, caBundle: hooks.caBundle } }));
  const said = await plane.kubectl(['create', 'configmap', 'served']);
  assert.match(said.stderr, /admission webhook "svc.example.com" denied the request: via service/);
  assert.equal(hooks.seen.at(-1)!.headers.host, `hook.default.svc:${hooks.port}`);
});

test('exec is a CONNECT with its options', async () => {
  hooks.on('/connect', () => ({ allowed: false, status: { message: 'nobody looks inside' } }));
  const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CONNECT'], resources: ['pods/exec'] }];
  await apply(configuration('Validating', '/connect', { rules }));
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  };
  await apply(JSON.stringify(pod));
  const said = await plane.kubectl(['exec', 'p', '-i', '--', 'ls', '-l']);
  assert.match(said.stderr, /admission webhook "connect.example.com" denied the request: nobody looks inside/);
  const { request } = hooks.seen.at(-1)!.review;
  assert.deepEqual(request.object, {
    kind: 'PodExecOptions',
    apiVersion: 'v1',
    stdin: true,
    stdout: true,
    stderr: true,
    container: 'c',
    command: ['ls', '-l'],
  });
  assert.equal(request.subResource, 'exec');
  assert.equal(request.options, null);
});
