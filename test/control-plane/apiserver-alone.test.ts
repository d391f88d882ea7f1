/** `keelson apiserver` as a process with a real etcd, used by kubectl: upstream's flags, and upstream's keys in etcd. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { kubeconfigYaml } from '../../src/cluster/kubeconfig.ts';
import { listenTo, type Listening } from './serving-fixture.ts';
import { ensureClusterPki } from '../../src/component-helpers/pki/cluster-pki.ts';
import { createNodePlatform } from '../../src/platform/node/node-platform.ts';
import { type EtcdServer, startEtcd, withoutEtcd } from '../../src/storage/etcd/etcd-fixture.ts';
import { createEtcdStore } from '../../src/storage/etcd/etcd-store.ts';
import { kubectlProgram } from '../../tools/kubectl.ts';
import { keelsonProgram } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';

describe('keelson apiserver', { skip: withoutEtcd }, () => {
  const platform = createNodePlatform();
  let folder: string;
  let etcd: EtcdServer;
  let child: ChildProcess;
  let port = 0;
  let output: Listening;
  const kubectl = async (args: readonly string[]): Promise<string> => {
    const all = [`--kubeconfig=${folder}/kubeconfig`, `--cache-dir=${folder}/cache`, ...args];
    return (await promisify(execFile)(kubectlProgram(), all)).stdout;
  };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keelson-apiserver-'));
    etcd = await startEtcd();
    const dir = join(folder, 'pki');
    const names = { nodeName: 'none', dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] };
    const { crypto, random, clock, files } = platform;
    const pki = await ensureClusterPki(files, { crypto, random, nowMs: () => clock.nowMs() }, { dir, names });
    port = await freePort();
    await writeFile(
      join(folder, 'kubeconfig'),
      kubeconfigYaml({
        server: `https://127.0.0.1:${port}`,
        caPem: pki.ca.certPem,
        ...pki.admin,
        user: 'a',
        cluster: 'c',
      }),
    );
    const keys = [{ name: 'k1', secret: Buffer.alloc(32, 7).toString('base64') }];
    const encryption = {
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'EncryptionConfiguration',
      resources: [{ resources: ['secrets'], providers: [{ aescbc: { keys } }] }],
    };
    await writeFile(join(folder, 'encryption.yaml'), JSON.stringify(encryption));
    await writeFile(join(folder, 'tokens.csv'), 'opensesame,ali,1,"system:masters"\n');
    const audit = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] };
    await writeFile(join(folder, 'audit.yaml'), JSON.stringify(audit));
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey;
    await writeFile(join(folder, 'rsa.pub'), rsa.export({ type: 'pkcs1', format: 'pem' }));
    child = spawn(
      process.execPath,
      [
        ...[keelsonProgram, 'apiserver', `--etcd-servers=${etcd.url}`, '--etcd-prefix=/mine', `--secure-port=${port}`],
        ...['--bind-address=127.0.0.1', `--client-ca-file=${dir}/ca.crt`, `--cert-dir=${folder}/certs`],
        ...[`--tls-cert-file=${dir}/apiserver.crt`, `--tls-private-key-file=${dir}/apiserver.key`],
        ...['--service-account-issuer=https://issuer.example', `--service-account-signing-key-file=${dir}/sa.key`],
        ...[`--service-account-key-file=${dir}/sa.pub`, '--authorization-mode=Node,RBAC', '--event-ttl=1s'],
        ...['--service-cluster-ip-range=10.99.0.0/24', '--service-node-port-range=31000-31010'],
        ...['--admission-control=NamespaceLifecycle,ServiceAccount'],
        ...[`--token-auth-file=${folder}/tokens.csv`, `--service-account-key-file=${folder}/rsa.pub`],
        ...[`--audit-policy-file=${folder}/audit.yaml`, `--audit-log-path=${folder}/audit.log`],
        ...[`--encryption-provider-config=${folder}/encryption.yaml`],
        // As kubeadm passes them.
        ...['--allow-privileged=true', '--enable-bootstrap-token-auth=true', '--profiling=false'],
        ...['--tls-min-version=VersionTLS13', '--tls-cipher-suites=TLS_AES_128_GCM_SHA256', '--request-timeout=2m'],
        ...['--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname'],
        ...[`--proxy-client-cert-file=${dir}/front-proxy-client.crt`],
        ...[`--proxy-client-key-file=${dir}/front-proxy-client.key`],
        ...['--requestheader-allowed-names=front-proxy-client', '--requestheader-username-headers=X-Remote-User'],
        ...[`--requestheader-client-ca-file=${dir}/front-proxy-ca.crt`, '--requestheader-group-headers=X-Remote-Group'],
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    output = listenTo(child);
    await output.serving;
  });
  after(async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (child.exitCode === null) {
      child.kill('SIGTERM');
      await ended;
    }
    await etcd.stop();
    platform.close();
    await rm(folder, { recursive: true });
    assert.equal(child.exitCode, 0, output.said());
  });

  test('reports deprecated flags', () => assert.match(output.said(), /Flag --admission-control has been deprecated/));

  test('accepts static tokens, and writes the audit log', async () => {
    const cluster = [`--server=https://127.0.0.1:${port}`, '--insecure-skip-tls-verify', '--certificate-authority='];
    const said = await kubectl([
      ...cluster,
      '--kubeconfig=/dev/null',
      '--token=opensesame',
      'auth',
      'whoami',
      '-o',
      'json',
    ]);
    assert.equal((JSON.parse(said) as { status: { userInfo: { username: string } } }).status.userInfo.username, 'ali');
    await until('the line of the request', async () => {
      // Complete lines only: the server may be writing another.
      const lines = (await readFile(join(folder, 'audit.log'), 'utf8')).split('\n').slice(0, -1);
      const events = lines.map((line) => JSON.parse(line) as { user: { username: string }; requestURI: string });
      return events.some(
        ({ user, requestURI }) => user.username === 'ali' && requestURI.includes('selfsubjectreviews'),
      );
    });
  });

  test("serves kubectl, and stores objects under upstream's keys", async () => {
    await writeFile(
      join(folder, 'node.json'),
      JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } }),
    );
    await kubectl(['create', '-f', join(folder, 'node.json')]);
    await kubectl(['create', 'configmap', 'c1', '--from-literal=a=b']);
    await kubectl(['create', 'service', 'nodeport', 's1', '--tcp=80']);
    const service = JSON.parse(await kubectl(['get', 'service', 's1', '-o', 'json'])) as {
      spec: { clusterIP: string; ports: { nodePort: number }[] };
    };
    assert.match(service.spec.clusterIP, /^10\.99\.0\./);
    assert.ok(service.spec.ports[0]!.nodePort >= 31000 && service.spec.ports[0]!.nodePort <= 31010);
    const token = await kubectl(['create', 'token', 'default']).catch((error: Error) => error.message);
    assert.match(token, /serviceaccounts "default" not found/, 'no controller runs here');
    const store = await createEtcdStore({ endpoints: [etcd.url], platform });
    const { entries } = await store.range({ start: '/mine/', end: '/mine0' });
    const keys = new Set(entries.map(({ key }) => key));
    for (const key of ['minions/n1', 'configmaps/default/c1', 'services/specs/default/s1', 'namespaces/default'])
      assert.ok(keys.has(`/mine/${key}`), `${key} of ${[...keys].join(' ')}`);
    const clusterRole = entries.find(({ key }) => key === '/mine/clusterroles/cluster-admin');
    assert.ok(clusterRole);
    await kubectl(['create', 'secret', 'generic', 'x', '--from-literal=password=hunter2']);
    const kept = Buffer.from((await store.get('/mine/secrets/default/x'))!.value);
    assert.ok(kept.toString('latin1').startsWith('k8s:enc:aescbc:v1:k1:') && !kept.includes('hunter2'));
    const shown = await kubectl(['get', 'secret', 'x', '-o', 'jsonpath={.data.password}']);
    assert.equal(Buffer.from(shown, 'base64').toString(), 'hunter2');
    await store.close();
  });

  test('accepts bootstrap tokens, and publishes its client authorities for aggregated servers', async () => {
    const token = ['abcdef', '0123456789abcdef'] as const;
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `bootstrap-token-${token[0]}`, namespace: 'kube-system' },
      type: 'bootstrap.kubernetes.io/token',
      stringData: { 'token-id': token[0], 'token-secret': token[1], 'usage-bootstrap-authentication': 'true' },
    };
    await writeFile(join(folder, 'bootstrap.json'), JSON.stringify(secret));
    await kubectl(['create', '-f', join(folder, 'bootstrap.json')]);
    const said = await kubectl([
      ...['--kubeconfig=/dev/null', `--server=https://127.0.0.1:${port}`, '--insecure-skip-tls-verify'],
      ...[`--token=${token.join('.')}`, 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'],
    ]);
    assert.equal(said, 'system:bootstrap:abcdef');
    const map = ['get', 'configmap', '-n', 'kube-system', 'extension-apiserver-authentication', '-o', 'json'];
    const { data } = JSON.parse(await kubectl(map)) as { data: Record<string, string> };
    const read = (name: string): Promise<string> => readFile(join(folder, 'pki', name), 'utf8');
    assert.deepEqual(data, {
      'client-ca-file': await read('ca.crt'),
      'requestheader-client-ca-file': await read('front-proxy-ca.crt'),
      'requestheader-allowed-names': '["front-proxy-client"]',
      'requestheader-username-headers': '["x-remote-user"]',
      'requestheader-group-headers': '["x-remote-group"]',
      'requestheader-extra-headers-prefix': '["x-remote-extra-"]',
      'requestheader-uid-headers': '["X-Remote-Uid"]',
    });
  });

  test('events expire after --event-ttl', async () => {
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'e1', namespace: 'default' },
      involvedObject: { kind: 'Node', name: 'n1', namespace: 'default' },
      reason: 'Test',
      type: 'Normal',
    };
    await writeFile(join(folder, 'event.json'), JSON.stringify(event));
    await kubectl(['create', '-f', join(folder, 'event.json')]);
    await kubectl(['wait', '--for=delete', 'event/e1', '--timeout=120s']);
  });

  test('refuses invalid flags in one line', async () => {
    const run = (args: string[]): Promise<{ code: number; stderr: string }> =>
      new Promise((resolve) =>
        execFile(process.execPath, [keelsonProgram, 'apiserver', ...args], (error, _stdout, stderr) =>
          resolve({ code: Number(error?.code ?? 0), stderr }),
        ),
      );
    const rest = ['--service-account-issuer=https://i', `--service-account-signing-key-file=${folder}/pki/sa.key`];
    const cases: [string[], RegExp][] = [
      [
        ['--etcd_servers=http://127.0.0.1:1', ...rest, `--cert-dir=${folder}/x`],
        /^keelson: cannot open the store .*ECONNREFUSED/,
      ],
      [['--etcd-servers=ftp://a', ...rest], /^keelson: --etcd-servers: ftp:\/\/a is not a URL/],
      [
        ['--portal-net=10.0.0.0/8'],
        /^keelson: --portal-net is a flag of an early release: use --service-cluster-ip-range$/m,
      ],
      [
        ['--etcd-servers=http://a:1', rest[0]!, `--service-account-signing-key-file=${folder}/pki/ca.crt`],
        /holds no key in PEM form/,
      ],
    ];
    for (const [args, message] of cases) {
      const { code, stderr } = await run(args);
      assert.match(stderr, message);
      assert.ok(code > 0 && stderr.trim().split('\n').length === 1, stderr);
    }
  });
});
