/** Two `keelson controller-manager` processes: one leads, the other waits; each controller has its own account. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Leases } from '../../src/api/gen/resources.ts';
import { startControlPlane, type ControlPlaneFixture } from './control-plane-fixture.ts';
import { keelsonProgram, start, type Running } from '../integration/fixtures/programs.ts';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { createNodeNet } from '../../src/platform/node/net.ts';
import { until } from '../integration/fixtures/until.ts';

const key = { namespace: 'kube-system', name: 'kube-controller-manager' };

describe('controllers alone', () => {
  let plane: ControlPlaneFixture;
  const managers: Running[] = [];
  let securePort = 0;
  before(async () => {
    plane = await startControlPlane({ components: false });
  });
  after(async () => {
    for (const manager of managers) manager.kill('SIGKILL');
    net.close();
    await plane?.stop();
  });

  const manager = (...more: string[]): Running => {
    const flags = [
      `--kubeconfig=${plane.kubeconfig}`,
      '--use-service-account-credentials=true',
      '--bind-address=127.0.0.1',
    ];
    const files = ['--service-account-private-key-file', join(plane.directory, 'pki/sa.key')];
    const quick = ['--leader-elect-lease-duration', '20s', '--leader-elect-renew-deadline', '18s'];
    const args = [
      'controller-manager',
      ...flags,
      ...files,
      ...quick,
      '--leader-elect-retry-period',
      '500ms',
      '--secure-port=0',
      ...more,
    ];
    const running = start(process.execPath, [keelsonProgram, ...args]);
    managers.push(running);
    return running;
  };
  const lease = async () =>
    (
      await plane.admin
        .resource(Leases)
        .get(key)
        .catch(() => undefined)
    )?.spec;
  const holder = async (): Promise<string> => (await lease())?.holderIdentity ?? '';
  const net = createNodeNet();
  const ask = async (path: string, more: { token?: string; cert?: boolean; port?: number } = {}): Promise<number> => {
    const { cert, key: keyPem } = plane.tls;
    const answer = await net.http({
      method: 'GET',
      url: `https://127.0.0.1:${more.port ?? securePort}${path}`,
      headers: more.token === undefined ? {} : { authorization: `Bearer ${more.token}` },
      tls: { insecureSkipVerify: true, ...(more.cert === true ? { certPem: cert, keyPem } : {}) },
    });
    answer.cancel();
    return answer.status;
  };
  const eventually = (what: string, check: () => Promise<boolean>): Promise<boolean> =>
    until(what, check).catch((error: Error) =>
      assert.fail(`${error.message}\n${managers.map((m) => m.stdout() + m.stderr()).join('')}`),
    );
  const replicaSets = async (): Promise<number> => {
    const said = await plane.kubectl(['get', 'rs', '-o', 'name']);
    return said.stdout.split('\n').filter((line) => line !== '').length;
  };

  test('the leader works, each controller with its own account', async () => {
    // As kubeadm starts it.
    securePort = await freePort();
    const conf = plane.kubeconfig;
    const first = manager(
      ...[`--secure-port=${securePort}`, `--authentication-kubeconfig=${conf}`, `--authorization-kubeconfig=${conf}`],
      ...[`--client-ca-file=${plane.directory}/pki/ca.crt`, '--controllers=*,bootstrapsigner,tokencleaner'],
      ...['--cluster-name=kubernetes', '--leader-elect=true', '--profiling=true', '--v=2'],
    );
    await eventually('a leader', async () => (await holder()) !== '');
    await plane.kubectl(['create', 'serviceaccount', 'bot']);
    await plane.kubectl(['create', 'deployment', 'web', '--image=web:1']);
    await eventually('a replica set', async () => (await replicaSets()) === 1);
    await eventually('pods', async () => /pod\/web-/.test((await plane.kubectl(['get', 'pods', '-o', 'name'])).stdout));
    const accounts = await plane.kubectl(['get', 'sa', '-n', 'kube-system', '-o', 'name']);
    assert.match(accounts.stdout, /serviceaccount\/deployment-controller/);
    assert.match(accounts.stdout, /serviceaccount\/replicaset-controller/);
    assert.doesNotMatch(first.stdout(), /"level":"error"/);
  });

  test('health is public, metrics require rights from the API server', async () => {
    await eventually('its server', async () => (await ask('/healthz')) === 200);
    assert.equal(await ask('/metrics'), 403);
    assert.equal(await ask('/metrics', { cert: true }), 200);
    const { stdout: token } = await plane.kubectl(['create', 'token', 'bot']);
    assert.equal(await ask('/metrics', { token }), 403);
    const role = ['create', 'clusterrole', 'reader', '--verb=get', '--non-resource-url=/metrics'];
    assert.equal((await plane.kubectl(role)).code, 0);
    const binding = ['create', 'clusterrolebinding', 'reader', '--clusterrole=reader', '--serviceaccount=default:bot'];
    assert.equal((await plane.kubectl(binding)).code, 0);
    // The refusal is cached for ten seconds.
    await eventually('consent', async () => (await ask('/metrics', { token })) === 200);
    assert.equal(await ask('/metrics', { token: 'made-up' }), 401);
  });

  test('a token secret is filled by the key of the file, and its token is valid', async () => {
    const secret = `apiVersion: v1\nkind: Secret\nmetadata: {name: bot, annotations: {kubernetes.io/service-account.name: bot}}\ntype: kubernetes.io/service-account-token\n`;
    assert.equal((await plane.kubectl(['create', '-f', '-'], secret)).code, 0);
    let token = '';
    await eventually('a token', async () => {
      const said = await plane.kubectl(['get', 'secret', 'bot', '-o', 'jsonpath={.data.token}']);
      token = Buffer.from(said.stdout, 'base64').toString('utf8');
      return token !== '';
    });
    const whoami = await plane.kubectl([
      `--server=https://127.0.0.1:${plane.port}`,
      '--insecure-skip-tls-verify',
      '--certificate-authority=',
      '--kubeconfig=/dev/null',
      `--token=${token}`,
      'auth',
      'whoami',
    ]);
    assert.match(whoami.stdout, /system:serviceaccount:default:bot/, whoami.stderr);
  });

  test('the leader is killed: the other takes over within the lease, and nothing is created twice', async () => {
    const [first] = managers;
    const before = await holder();
    const port = await freePort();
    manager(`--secure-port=${port}`);
    await eventually('the second serves', async () => (await ask('/healthz', { port })) === 200);
    // The candidate tries at least half as often as the leader renews.
    const renewals = new Set<string | undefined>();
    await eventually('renewals', async () => renewals.add((await lease())?.renewTime).size > 4);
    assert.equal(await holder(), before, 'one leader at a time');
    first?.kill('SIGKILL');
    await plane.kubectl(['create', 'deployment', 'late', '--image=web:1']);
    await eventually('another leader', async () => (await holder()) !== before && (await holder()) !== '');
    await eventually('its work', async () => (await replicaSets()) === 2);
    assert.equal(await replicaSets(), 2);
  });

  test('a graceful end releases the lease', async () => {
    const second = managers[1];
    second?.kill('SIGTERM');
    assert.equal((await second?.ended())?.code, 0);
    assert.equal(await holder(), '');
  });

  const wrong: [args: string[], message: RegExp][] = [
    [['--controllers', '*,-jobs'], /--controllers: "jobs" is not in the list of known controllers/],
    [['--allocate-node-cidrs'], /--allocate-node-cidrs: --cluster-cidr is needed/],
    [['--leader-elect-renew-deadline', '20s'], /--leader-elect-lease-duration must be longer/],
    [['--service-account-private-key-file', '/dev/null'], /--service-account-private-key-file: /],
  ];
  for (const [args, message] of wrong) {
    test(`${args.join(' ')} is refused in one line`, async () => {
      const { code, stderr } = await manager(...args).ended();
      assert.equal(code, 2, stderr);
      assert.match(stderr, message);
      assert.equal(stderr.trim().split('\n').length, 1);
    });
  }
});
