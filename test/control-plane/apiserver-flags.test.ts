/**
 * `keelson apiserver` with flags about connections, audit and shutdown, over real sockets: certificates by name, CORS, an audit
 * webhook in batches, renewed certificates, and a graceful shutdown that load balancers notice.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { ClientRequest, IncomingHttpHeaders } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connect } from 'node:tls';
import { kubeconfigYaml } from '../../src/cluster/kubeconfig.ts';
import { listenTo, type Listening } from './serving-fixture.ts';
import { ensureClusterPki } from '../../src/component-helpers/pki/cluster-pki.ts';
import { createTestAuthority, type TestAuthority } from '../../src/platform/node/certificates-fixture.ts';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { createNodePlatform } from '../../src/platform/node/node-platform.ts';
import { type EtcdServer, startEtcd, withoutEtcd } from '../../src/storage/etcd/etcd-fixture.ts';
import { kubectlProgram } from '../../tools/kubectl.ts';
import { keelsonProgram } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';
import { startWebhookServer, type WebhookServer } from './webhook-server.ts';

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Sent {
  readonly answer: Promise<Answer>;
  readonly call: ClientRequest;
}

describe('flags of keelson apiserver', { skip: withoutEtcd }, () => {
  const platform = createNodePlatform();
  let folder: string;
  let etcd: EtcdServer;
  let hooks: WebhookServer;
  let names: TestAuthority;
  let child: ChildProcess;
  let port = 0;
  let output: Listening;

  const at = (name: string): string => join(folder, name);
  function send(path: string, more: { method?: string; headers?: Record<string, string>; open?: boolean } = {}): Sent {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const { method = 'GET', headers = {}, open = false } = more;
    const target = { host: '127.0.0.1', port, path, method, agent: false, rejectUnauthorized: false } as const;
    const auth = { authorization: 'Bearer opensesame', ...headers };
    const call = request({ ...target, headers: auth }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (part: string) => (body += part));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
      response.on('error', reject);
    });
    call.on('error', reject);
    promise.catch(() => undefined);
    if (open) call.flushHeaders();
    else call.end();
    return { answer: promise, call };
  }
  const ask = (path: string, more: { method?: string; headers?: Record<string, string> } = {}): Promise<Answer> =>
    send(path, more).answer;
  const kubectl = (...args: string[]): Promise<{ stdout: string; stderr: string }> =>
    new Promise((resolve) => {
      const all = [`--kubeconfig=${at('kubeconfig')}`, `--cache-dir=${at('cache')}`, ...args];
      execFile(kubectlProgram(), all, (_error, stdout, stderr) => resolve({ stdout, stderr }));
    });
  const certificateFor = (servername: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false }, () => {
        resolve(String(socket.getPeerCertificate().subject.CN));
        socket.destroy();
      });
      socket.on('error', reject);
    });

  async function writeFiles(): Promise<void> {
    const dir = at('pki');
    const { crypto, random, clock, files } = platform;
    const hosts = { nodeName: 'none', dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] };
    const pki = await ensureClusterPki(files, { crypto, random, nowMs: () => clock.nowMs() }, { dir, names: hosts });
    const server = `https://127.0.0.1:${port}`;
    const admin = { server, caPem: pki.ca.certPem, ...pki.admin, user: 'a', cluster: 'c' };
    await writeFile(at('kubeconfig'), kubeconfigYaml(admin));
    for (const [file, subject, host] of [
      ['first', 'CN=first', 'first.example'],
      ['wild', 'CN=wild', 'x.wild.example'],
      ['next', 'CN=next', '127.0.0.1'],
    ] as const) {
      const { certPem, keyPem } = await names.issue(subject, [host]);
      await writeFile(at(`${file}.crt`), certPem);
      await writeFile(at(`${file}.key`), keyPem);
    }
    await copyFile(`${dir}/apiserver.crt`, at('serving.crt'));
    await copyFile(`${dir}/apiserver.key`, at('serving.key'));
    await writeFile(at('tokens.csv'), 'opensesame,ali,1,"system:masters"\n');
    const policy = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'RequestResponse' }] };
    await writeFile(at('audit.yaml'), JSON.stringify(policy));
    const hook = {
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [
        {
          name: 'c',
          cluster: { server: `https://127.0.0.1:${hooks.port}/audit`, 'certificate-authority-data': hooks.caBundle },
        },
      ],
      users: [{ name: 'u', user: {} }],
    };
    await writeFile(at('audit-webhook.yaml'), JSON.stringify(hook));
  }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keelson-flags-'));
    [etcd, hooks, names, port] = await Promise.all([
      startEtcd(),
      startWebhookServer(),
      createTestAuthority('names'),
      freePort(),
    ]);
    hooks.on('/audit', () => ({ apiVersion: 'v1' }));
    await writeFiles();
    const dir = at('pki');
    child = spawn(
      process.execPath,
      [
        ...[
          keelsonProgram,
          'apiserver',
          `--etcd-servers=${etcd.url}`,
          `--secure-port=${port}`,
          '--bind-address=127.0.0.1',
        ],
        ...[`--tls-cert-file=${at('serving.crt')}`, `--tls-private-key-file=${at('serving.key')}`],
        ...[`--client-ca-file=${dir}/ca.crt`, `--token-auth-file=${at('tokens.csv')}`, '--authorization-mode=RBAC'],
        ...['--service-account-issuer=https://issuer.example', `--service-account-signing-key-file=${dir}/sa.key`],
        ...['--service-account-max-token-expiration=2h', '--external-hostname=api.example.com'],
        ...[`--tls-sni-cert-key=${at('first.crt')},${at('first.key')}`],
        ...[`--tls-sni-cert-key=${at('wild.crt')},${at('wild.key')}:*.wild.example`],
        ...['--cors-allowed-origins=^https://console\\.example$', '--goaway-chance=0.001'],
        ...['--strict-transport-security-directives=max-age=31536000,includeSubDomains'],
        ...[`--audit-policy-file=${at('audit.yaml')}`, `--audit-log-path=${at('audit.log')}`],
        ...['--audit-log-mode=blocking-strict', '--audit-log-truncate-enabled=true'],
        ...['--audit-log-truncate-max-event-size=20000', `--audit-webhook-config-file=${at('audit-webhook.yaml')}`],
        ...[
          '--audit-webhook-mode=batch',
          '--audit-webhook-batch-max-size=1000',
          '--audit-webhook-batch-max-wait=200ms',
        ],
        ...['--shutdown-delay-duration=3s', '--shutdown-send-retry-after=true', '--logging-format=text', '--v=2'],
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    output = listenTo(child);
    await output.serving;
  });
  after(async () => {
    if (child?.exitCode === null) child.kill('SIGKILL');
    await hooks?.close();
    await etcd?.stop();
    platform.close();
    await rm(folder, { recursive: true });
  });

  test('the log is text when that is requested', () =>
    assert.match(output.said(), /^[\d:.]+ INFO .*Serving securely/m));

  test('each server name has its certificate', async () => {
    assert.deepEqual(
      await Promise.all(['first.example', 'any.wild.example', 'x.wild.example', 'other.example'].map(certificateFor)),
      ['first', 'wild', 'wild', 'kube-apiserver'],
    );
  });

  test('allowed origins may call, and strict transport security is announced', async () => {
    const origin = 'https://console.example';
    const preflight = await ask('/api/v1/pods', { method: 'OPTIONS', headers: { origin, authorization: '' } });
    assert.deepEqual([preflight.status, preflight.headers['access-control-allow-origin']], [204, origin]);
    const list = await ask('/api/v1/namespaces', { headers: { origin } });
    assert.deepEqual([list.status, list.headers['access-control-allow-credentials']], [200, 'true']);
    assert.equal(list.headers['strict-transport-security'], 'max-age=31536000; includeSubDomains');
    const other = await ask('/api/v1/namespaces', { headers: { origin: 'https://console.example.evil.com' } });
    assert.deepEqual([other.status, other.headers['access-control-allow-origin']], [200, undefined]);
  });

  test('the audit log has an event before its response, the webhook gets events in batches; large ones lose their objects', async () => {
    const large = 'x'.repeat(30_000);
    await kubectl('create', 'configmap', 'small', '--from-literal=a=b');
    const lines = (await readFile(at('audit.log'), 'utf8')).trim().split('\n');
    const events = lines.map((line) => JSON.parse(line) as Event);
    interface Event {
      readonly stage: string;
      readonly verb: string;
      readonly objectRef?: { readonly name?: string };
      readonly requestObject?: object;
      readonly annotations?: Readonly<Record<string, string>>;
    }
    const isOf = (name: string) => (event: Event) =>
      event.verb === 'create' && event.objectRef?.name === name && event.stage === 'ResponseComplete';
    assert.ok(events.find(isOf('small'))?.requestObject !== undefined);
    await kubectl('create', 'configmap', 'large', `--from-literal=a=${large}`);
    const after = (await readFile(at('audit.log'), 'utf8')).trim().split('\n');
    const cut = after.map((line) => JSON.parse(line) as Event).find(isOf('large'));
    assert.deepEqual([cut?.requestObject, cut?.annotations?.['audit.k8s.io/truncated']], [undefined, 'true']);
    const batch = await until('the webhook', async () =>
      hooks.seen.map(({ review }) => review).find(({ items }) => (items as Event[]).some(isOf('large'))),
    );
    assert.deepEqual([batch.kind, batch.apiVersion], ['EventList', 'audit.k8s.io/v1']);
    const whole = (batch.items as Event[]).find(isOf('large'));
    assert.ok(whole?.requestObject !== undefined, 'the webhook truncates nothing');
    assert.ok(
      hooks.seen.some(({ review }) => (review.items as Event[]).length > 1),
      'in batches',
    );
  });

  test('tokens shorter than requested have a warning; relying parties find the keys under the external name', async () => {
    await kubectl('create', 'serviceaccount', 'bot');
    const { stdout, stderr } = await kubectl('create', 'token', 'bot', '--duration=3h');
    assert.match(stderr, /^Warning: requested expiration of 10800 seconds shortened to 7200 seconds$/m);
    const { exp, iat } = JSON.parse(Buffer.from(stdout.split('.')[1]!, 'base64url').toString()) as Record<
      string,
      number
    >;
    assert.equal(exp! - iat!, 7200);
    const { body } = await ask('/.well-known/openid-configuration');
    assert.equal((JSON.parse(body) as { jwks_uri: string }).jwks_uri, `https://api.example.com:${port}/openid/v1/jwks`);
  });

  test('privileged containers are refused unless they are allowed', async () => {
    await kubectl('create', 'serviceaccount', 'default'); // no controller runs here
    const overrides = JSON.stringify({
      spec: { containers: [{ name: 'p', image: 'i', securityContext: { privileged: true } }] },
    });
    const { stderr } = await kubectl('run', 'p', '--image=i', `--overrides=${overrides}`);
    assert.match(
      stderr,
      /The Pod "p" is invalid: spec\.containers\[0\]\.securityContext\.privileged: Forbidden: disallowed by cluster policy/,
    );
  });

  test('a renewed client authority is published for aggregated API servers, beside the previous one', async () => {
    const file = join(at('pki'), 'ca.crt');
    const before = await readFile(file, 'utf8');
    await writeFile(file, `${before}${names.caPem}`);
    const map = ['get', 'configmap', '-n', 'kube-system', 'extension-apiserver-authentication', '-o'];
    const told = async (): Promise<string> => (await kubectl(...map, 'jsonpath={.data.client-ca-file}')).stdout;
    const all = await until('both', async () => {
      const now = await told();
      return now.split('BEGIN CERTIFICATE').length === 3 && now;
    });
    for (const pem of [before, names.caPem]) assert.ok(all.includes(pem.trim()), all);
  });

  test('a renewed certificate is loaded', async () => {
    await copyFile(at('next.crt'), at('serving.crt'));
    await copyFile(at('next.key'), at('serving.key'));
    await until('the new certificate', async () => (await certificateFor('localhost')) === 'next');
    assert.equal(await certificateFor('first.example'), 'first');
  });

  test('shutdown: not ready, still serving, then no new requests, and those in progress are answered', async () => {
    const open = send('/api/v1/namespaces/default/configmaps', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      open: true,
    });
    assert.equal((await ask('/readyz')).status, 200);
    assert.match((await ask('/readyz?verbose')).body, /\[\+\]shutdown ok/);
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await until('not ready', async () => (await ask('/readyz')).status === 500);
    // Clients that have not noticed yet are served until the delay is over.
    assert.equal((await ask('/livez')).status, 200);
    const refused = await until('a refusal', async () => {
      const answer = await ask('/version');
      return answer.status === 429 && answer;
    });
    assert.deepEqual([refused.headers['retry-after'], refused.headers['connection']], ['5', 'close']);
    assert.match(refused.body, /The apiserver is shutting down, please try again later\./);
    open.call.end(JSON.stringify({ metadata: { name: 'last' } }));
    assert.equal((await open.answer).status, 201);
    assert.equal(await ended, 0, output.said());
  });
});
