/**
 * The API server's options as files and flags, with kubectl: static tokens, token and authorization webhooks over real TLS, front
 * proxies with their own certificate, admission plugins with their configuration, and the audit log.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createTestAuthority, type TestCertificate } from '../../src/platform/node/certificates-fixture.ts';
import { type ControlPlaneFixture, startControlPlane } from './control-plane-fixture.ts';
import { until } from '../integration/fixtures/until.ts';
import { startWebhookServer, type WebhookServer } from './webhook-server.ts';

let plane: ControlPlaneFixture;
let hooks: WebhookServer;
let directory: string;
let proxy: TestCertificate;
let stranger: TestCertificate;

const kubeconfig = (path: string): string =>
  JSON.stringify({
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [
      {
        name: 'c',
        cluster: { server: `https://127.0.0.1:${hooks.port}${path}`, 'certificate-authority-data': hooks.caBundle },
      },
    ],
    users: [{ name: 'u', user: { token: 'webhook-secret' } }],
  });

const files: Readonly<Record<string, () => string>> = {
  'tokens.csv': () => 'static-token,static-ann,7,"system:masters,devs"\nnobody-token,nobody,8\n',
  'authn.kubeconfig': () => kubeconfig('/authn'),
  'authz.kubeconfig': () => kubeconfig('/authz'),
  'admission.yaml': () =>
    `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodSecurity
  configuration:
    apiVersion: pod-security.admission.config.k8s.io/v1
    kind: PodSecurityConfiguration
    defaults: {enforce: baseline, warn: restricted}
    exemptions: {namespaces: [kube-system]}
- name: ImagePolicyWebhook
  configuration:
    imagePolicy: {kubeConfigFile: images.kubeconfig, allowTTL: 50, denyTTL: 50, retryBackoff: 500, defaultAllow: false}
`,
  'images.kubeconfig': () => kubeconfig('/images'),
  'audit.yaml': () =>
    `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  resources: [{group: "", resources: [configmaps], resourceNames: [unseen]}]
- level: Metadata
  users: [kubernetes-admin]
  resources: [{group: "", resources: [secrets]}]
- level: Request
  users: [kubernetes-admin]
  namespaces: [default]
  resources: [{group: "", resources: [services, "pods/eviction"]}]
- level: Metadata
  omitStages: [ResponseComplete]
  verbs: [watch]
  users: [static-ann]
  resources: [{group: "", resources: [configmaps]}]
- level: RequestResponse
  users: [kubernetes-admin, static-ann]
  resources: [{group: "", resources: [configmaps, pods]}]
  omitManagedFields: true
`,
};

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'keelson-options-'));
  hooks = await startWebhookServer();
  const proxies = await createTestAuthority('front proxies');
  [proxy, stranger] = await Promise.all([proxies.issue('CN=aggregator'), proxies.issue('CN=somebody')]);
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text());
  await writeFile(join(directory, 'proxies.pem'), proxies.caPem);
  const at = (name: string): string => join(directory, name);
  hooks.on('/authn', (spec) => ({
    apiVersion: 'authentication.k8s.io/v1beta1',
    kind: 'TokenReview',
    status:
      spec.token === 'hook-token'
        ? { authenticated: true, user: { username: 'hook-bob', groups: ['hooked'] } }
        : { authenticated: false },
  }));
  hooks.on('/authz', (spec) => ({
    apiVersion: 'authorization.k8s.io/v1beta1',
    kind: 'SubjectAccessReview',
    status: { allowed: spec.user === 'hook-bob' && spec.resourceAttributes?.verb === 'list', reason: 'asked the hook' },
  }));
  hooks.on('/images', (spec) => {
    const evil = (spec.containers as { image: string }[]).find(({ image }) => image.startsWith('evil'));
    const status = evil === undefined ? { allowed: true } : { allowed: false, reason: `${evil.image} is not signed` };
    return { apiVersion: 'imagepolicy.k8s.io/v1alpha1', kind: 'ImageReview', status };
  });
  plane = await startControlPlane({
    flags: {
      'token-auth-file': at('tokens.csv'),
      'authentication-token-webhook-config-file': at('authn.kubeconfig'),
      'authorization-mode': 'Node,RBAC,Webhook',
      'authorization-webhook-config-file': at('authz.kubeconfig'),
      'requestheader-client-ca-file': at('proxies.pem'),
      'requestheader-allowed-names': 'aggregator',
      'enable-admission-plugins': ['AlwaysPullImages', 'ImagePolicyWebhook'],
      'disable-admission-plugins': ['DefaultTolerationSeconds'],
      'admission-control-config-file': at('admission.yaml'),
      'audit-policy-file': at('audit.yaml'),
      'audit-log-path': at('audit.log'),
    },
  });
});
after(async () => {
  await plane.stop();
  await hooks.close();
  await rm(directory, { recursive: true });
});

/** Runs kubectl with a bearer token. */
function bearing(token: string, ...args: string[]): ReturnType<ControlPlaneFixture['kubectl']> {
  const server = `--server=https://127.0.0.1:${plane.port}`;
  return plane.kubectl(['--kubeconfig=/dev/null', server, '--insecure-skip-tls-verify', `--token=${token}`, ...args]);
}

test('a static token authenticates its user with its groups', async () => {
  const said = await bearing('static-token', 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo}');
  assert.deepEqual(JSON.parse(said.stdout), {
    username: 'static-ann',
    uid: '7',
    groups: ['system:masters', 'devs', 'system:authenticated'],
  });
});

test('the token webhook authenticates, and the authorization webhook authorizes', async () => {
  const who = await bearing('hook-token', 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}');
  assert.equal(who.stdout, 'hook-bob', who.stderr);
  assert.equal(hooks.seen.findLast(({ path }) => path === '/authn')?.headers.authorization, 'Bearer webhook-secret');
  assert.equal((await bearing('hook-token', 'get', 'configmaps')).code, 0);
  const refused = await bearing('hook-token', 'create', 'configmap', 'x');
  assert.match(
    refused.stderr,
    /configmaps is forbidden: User "hook-bob" cannot create resource "configmaps".*asked the hook/,
  );
  const unknown = await bearing('other-token', 'get', 'configmaps');
  assert.match(unknown.stderr, /Unauthorized/i);
});

test('a front proxy authenticates users; without its certificate, or with another name, its headers are ignored', async () => {
  const ask = (certificate: TestCertificate | undefined): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const body = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });
      const headers = {
        'x-remote-user': 'carol',
        'x-remote-group': 'system:masters',
        'content-type': 'application/json',
      };
      const identity = certificate === undefined ? {} : { cert: certificate.certPem, key: certificate.keyPem };
      const options = { method: 'POST', headers, ca: plane.tls.ca, agent: false, ...identity };
      const url = `https://127.0.0.1:${plane.port}/apis/authentication.k8s.io/v1/selfsubjectreviews`;
      const call = request(url, options, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => {
          const { status, code } = JSON.parse(Buffer.concat(chunks).toString('utf8'));
          resolve(status.userInfo ?? code);
        });
      });
      call.on('error', reject);
      call.end(body);
    });
  assert.deepEqual(await ask(proxy), { username: 'carol', groups: ['system:masters', 'system:authenticated'] });
  assert.equal(await ask(stranger), 403);
  assert.equal(await ask(undefined), 403);
});

const pod = (name: string, more: object = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [{ name: 'c', image: 'i', imagePullPolicy: 'IfNotPresent', ...more }] },
  });

test('admission plugins are enabled, disabled and configured', async () => {
  const refused = await plane.kubectl(['apply', '-f', '-'], pod('bad', { securityContext: { privileged: true } }));
  assert.match(
    refused.stderr,
    /violates PodSecurity "baseline:latest": privileged \(container "c" must not set securityContext.privileged=true\)/,
  );
  const warned = await plane.kubectl(['apply', '-f', '-'], pod('good'));
  assert.match(
    warned.stderr,
    /^Warning: would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false/,
  );
  assert.equal(warned.code, 0);
  const spec = '{.spec.containers[0].imagePullPolicy} {.spec.tolerations}';
  assert.equal((await plane.kubectl(['get', 'pod', 'good', '-o', `jsonpath=${spec}`])).stdout, 'Always');
  const exempt = await plane.kubectl(
    ['apply', '-n', 'kube-system', '-f', '-'],
    pod('x', { securityContext: { privileged: true } }),
  );
  assert.equal(exempt.code, 0, exempt.stderr);
});

test('the image policy webhook decides which images may run, over TLS with its own credentials', async () => {
  const refused = await plane.kubectl(['apply', '-f', '-'], pod('image', { image: 'evil:1' }));
  assert.match(
    refused.stderr,
    /pods "image" is forbidden: image policy webhook backend denied one or more images: evil:1 is not signed/,
  );
  const { review, headers } = hooks.seen.findLast(({ path }) => path === '/images')!;
  assert.deepEqual(review, {
    apiVersion: 'imagepolicy.k8s.io/v1alpha1',
    kind: 'ImageReview',
    metadata: {},
    spec: { containers: [{ image: 'evil:1' }], namespace: 'default' },
  });
  assert.equal(headers.authorization, 'Bearer webhook-secret');
  assert.equal((await plane.kubectl(['apply', '-f', '-'], pod('image', { image: 'good:1' }))).code, 0);
});

interface Audited {
  readonly verb: string;
  readonly stage: string;
  readonly level: string;
  readonly objectRef: { readonly resource: string; readonly name?: string; readonly subresource?: string };
  readonly user: { readonly username: string };
  readonly annotations: Readonly<Record<string, string>>;
  readonly responseStatus: { readonly code: number };
  readonly requestObject?: { readonly data?: object };
  readonly responseObject?: { readonly data?: object };
}

/** Complete lines only: the server may be writing another. */
async function auditLines(): Promise<Audited[]> {
  const lines = (await readFile(join(directory, 'audit.log'), 'utf8')).split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Audited);
}

test('the audit policy determines the level and the stages of each event', async () => {
  assert.equal((await plane.kubectl(['create', 'configmap', 'unseen'])).code, 0);
  assert.equal((await plane.kubectl(['delete', 'configmap', 'unseen'])).code, 0);
  assert.equal((await plane.kubectl(['create', 'secret', 'generic', 'hidden', '--from-literal=a=b'])).code, 0);
  assert.equal((await plane.kubectl(['create', 'service', 'clusterip', 'half', '--tcp=80'])).code, 0);
  const path = '/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=1';
  assert.equal((await bearing('static-token', 'get', '--raw', path)).code, 0);
  const lines = await until('all lines', async () => {
    const found = await auditLines();
    const watch = found.find(({ verb, objectRef }) => verb === 'watch' && objectRef.resource === 'configmaps');
    const service = found.find(({ objectRef }) => objectRef.name === 'half');
    return watch !== undefined && service !== undefined && found;
  });
  const of = (name: string, verb: string): readonly string[] =>
    lines
      .filter(({ objectRef, verb: own }) => objectRef.name === name && own === verb)
      .map(({ level, stage, requestObject, responseObject }) =>
        [level, stage, requestObject && 'request', responseObject && 'response'].filter(Boolean).join(' '),
      );
  assert.deepEqual(of('unseen', 'delete'), []);
  assert.deepEqual(of('hidden', 'create'), ['Metadata ResponseComplete']);
  assert.deepEqual(of('half', 'create'), ['Request ResponseComplete request']);
  const watches = lines.filter(({ verb, objectRef }) => verb === 'watch' && objectRef.resource === 'configmaps');
  assert.deepEqual([...new Set(watches.map(({ level, stage }) => `${level} ${stage}`))], ['Metadata ResponseStarted']);
});

test('the audit log records user, request and both objects', async () => {
  assert.equal((await bearing('static-token', 'create', 'configmap', 'noted', '--from-literal=a=b')).code, 0);
  const { events, event, refused } = await until('both lines', async () => {
    const events = await auditLines();
    const event = events.find(({ verb, objectRef }) => verb === 'create' && objectRef.name === 'noted');
    const refused = events.find(
      ({ objectRef, responseStatus }) => objectRef.name === 'bad' && responseStatus.code === 403,
    );
    return event !== undefined && refused !== undefined && { events, event, refused };
  });
  assert.equal(event.user.username, 'static-ann');
  assert.equal(event.stage, 'ResponseComplete');
  assert.equal(event.responseStatus.code, 201);
  assert.deepEqual(event.requestObject?.data, { a: 'b' });
  assert.deepEqual(event.responseObject?.data, { a: 'b' });
  assert.equal(event.annotations['authorization.k8s.io/decision'], 'allow');
  assert.ok(events.every(({ user }) => ['kubernetes-admin', 'static-ann'].includes(user.username)));
  assert.equal(refused.annotations['pod-security.kubernetes.io/enforce-policy'], 'baseline:latest');
});
