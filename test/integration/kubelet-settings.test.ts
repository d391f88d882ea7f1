/**
 * A kubelet with unusual settings, on real containerd: it attaches volumes itself, uses flexVolume drivers of another folder,
 * renews its certificate and runs static pods of a URL. Also its metrics of containers.
 */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import { get as httpsGet } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Container, Pod } from '../../src/api/gen/core-v1.ts';
import {
  CSIDrivers,
  Events,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  Pods,
  VolumeAttachments,
} from '../../src/api/gen/resources.ts';
import type { NodeStats } from '../../src/kubelet/stats/summary-types.ts';
import { kubeconfigYaml } from '../../src/cluster/kubeconfig.ts';
import { issueCertificate } from '../../src/component-helpers/pki/certificates.ts';
import { closeAll } from './fixtures/close-all.ts';
import { TEST_IMAGE_NAME } from './fixtures/containerd.ts';
import { startCsiDriver, type CsiDriver } from './fixtures/csi-driver.ts';
import { startKubeletMachine, until, type KubeletMachine } from './fixtures/kubelet-machine.ts';
import type { Running } from './fixtures/programs.ts';

const NODE = 'own';
const USER = `system:node:${NODE}`;
const DRIVER = 'attached.example.com';
const HOUR_MS = 3_600_000;
const key = (name: string) => ({ namespace: 'default', name });

/** One line of the API server's audit log. */
interface AuditLine {
  readonly verb: string;
  readonly user: { readonly extra?: Readonly<Record<string, readonly string[]>> };
  readonly objectRef?: { readonly resource?: string; readonly name?: string };
  readonly responseStatus?: { readonly code?: number };
}

describe('a kubelet with unusual settings', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keelson-settings-'));
  const auditLog = join(folder, 'audit.log');
  const drivers = join(folder, 'drivers');
  const certificates = join(folder, 'pki');
  let machine: KubeletMachine;
  let kubelet: Running;
  let manifests: Server;
  let driver: CsiDriver | undefined;
  let given = '';
  const tokens = new Set<unknown>();
  const log = (): string => kubelet.stderr().slice(-4000);

  before(async () => {
    const policy = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata', users: [USER] }] };
    writeFileSync(join(folder, 'policy.yaml'), JSON.stringify(policy));
    const audit = { 'audit-policy-file': join(folder, 'policy.yaml'), 'audit-log-path': auditLog };
    machine = await startKubeletMachine(audit);
    const attachments = '--resource=volumeattachments.storage.k8s.io';
    await must(['create', 'clusterrole', 'attach', '--verb=create,delete,get', attachments]);
    await must(['create', 'clusterrolebinding', 'attach', '--clusterrole=attach', `--user=${USER}`]);
    const renew = 'system:certificates.k8s.io:certificatesigningrequests:selfnodeclient';
    await must(['create', 'clusterrolebinding', 'renew', `--clusterrole=${renew}`, '--group=system:nodes']);
    manifests = await serveManifests();
    kubelet = await startKubelet(`http://127.0.0.1:${(manifests.address() as AddressInfo).port}/pods`);
  });
  after(() =>
    closeAll([
      ['manifests', () => new Promise((resolve) => manifests.close(resolve))],
      ['driver', () => driver?.stop()],
      ['machine', () => machine?.close()],
      ['folder', () => rmSync(folder, { recursive: true, force: true })],
    ]),
  );

  async function must(args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await machine.plane.kubectl(args);
    assert.equal(code, 0, stderr);
    return stdout;
  }

  /** A server of one static pod; it records the header of each request. */
  function serveManifests(): Promise<Server> {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'listed' }, spec: { containers: [sleeper()] } };
    const server = createServer((request, response) => {
      tokens.add(request.headers['x-token']);
      response.end(JSON.stringify(pod));
    });
    return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
  }

  /** Credentials whose certificate expires soon, so that the kubelet renews it at once. */
  async function agedCredentials(): Promise<string> {
    const { crypto, random, clock } = machine.containerd.platform;
    const pki = (file: string): string => readFileSync(join(machine.plane.directory, 'pki', file), 'utf8');
    const authority = { certPem: pki('ca.crt'), keyPem: pki('ca.key') };
    const pair = await issueCertificate({ crypto, random, nowMs: () => clock.nowMs() - 10 * HOUR_MS }, authority, {
      commonName: USER,
      organizations: ['system:nodes'],
      usages: ['client'],
      validityMs: 10.5 * HOUR_MS,
    });
    given = pair.certPem;
    const server = `https://127.0.0.1:${machine.plane.port}`;
    const path = join(folder, 'kubeconfig');
    writeFileSync(path, kubeconfigYaml({ server, caPem: authority.certPem, ...pair, user: NODE, cluster: 'test' }));
    return path;
  }

  async function startKubelet(staticPodURL: string): Promise<Running> {
    mkdirSync(drivers);
    mkdirSync(join(folder, 'conf.d'));
    const settings = {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      enableControllerAttachDetach: false,
      volumePluginDir: drivers,
      rotateCertificates: true,
      streamingConnectionIdleTimeout: '2s',
      tlsCipherSuites: ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384'],
      staticPodURL,
      staticPodURLHeader: { 'X-Token': ['secret'] },
    };
    writeFileSync(join(folder, 'conf.d/own.conf'), JSON.stringify(settings));
    const flags = ['--hostname-override', NODE, '--node-ip', '127.0.0.1', '--config-dir', join(folder, 'conf.d')];
    const credentials = ['--kubeconfig', await agedCredentials(), '--cert-dir', certificates];
    const started = machine.kubelet(NODE, ...credentials, ...flags);
    await until(
      'the node is Ready',
      async () => {
        const node = await machine.plane.admin.resource(Nodes).get({ name: NODE });
        return node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
      },
      () => started.stderr().slice(-4000),
    );
    return started;
  }

  function sleeper(changes: Partial<Container> = {}): Container {
    return { name: 'app', image: TEST_IMAGE_NAME, command: ['busybox', 'sleep', '100000'], ...changes };
  }

  const create = (name: string, spec: Partial<NonNullable<Pod['spec']>> & { containers: Container[] }): Promise<Pod> =>
    machine.plane.admin.resource(Pods).create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: key(name),
      spec: { nodeName: NODE, terminationGracePeriodSeconds: 0, ...spec },
    });
  /** Resolves to the pod once it meets the condition. */
  const becomes = (name: string, what: string, is: (pod: Pod) => boolean): Promise<Pod> =>
    until(
      `${name} ${what}`,
      async () => {
        const pod = await machine.plane.admin.resource(Pods).get(key(name));
        if (!is(pod)) throw new Error(JSON.stringify(pod.status));
        return pod;
      },
      log,
    );
  const ready = (name: string): Promise<Pod> =>
    becomes(
      name,
      'is Ready',
      ({ status }) => status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') === true,
    );
  const said = (name: string, what: RegExp): Promise<string> =>
    until(
      `${name} says ${what}`,
      async () => {
        const events = (await machine.plane.admin.resource(Events).list({ namespace: 'default' })).items;
        const lines = events.flatMap(({ involvedObject, reason, message }) =>
          involvedObject.name === name ? [`${reason}: ${message}`] : [],
        );
        const found = lines.find((line) => what.test(line));
        if (found === undefined) throw new Error(lines.join('\n'));
        return found;
      },
      log,
    );
  const remove = async (name: string): Promise<void> => void (await must(['delete', 'pod', name, '--timeout=120s']));
  /** Successful requests of the node in the audit log of the API server. */
  const audited = (): AuditLine[] =>
    readFileSync(auditLog, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as AuditLine)
      .filter(({ responseStatus }) => (responseStatus?.code ?? 500) < 300);

  it('renews its client certificate, and uses the new one', async () => {
    const file = join(certificates, 'kubelet-client-current.pem');
    await until('there is another certificate', async () => existsSync(file), log);
    const renewed = new X509Certificate(readFileSync(file, 'utf8'));
    assert.equal(renewed.subject, 'O=system:nodes\nCN=system:node:own');
    assert.ok(renewed.validToDate > new X509Certificate(given).validToDate);
    const id = (pem: X509Certificate): string => `X509SHA256=${pem.fingerprint256.replaceAll(':', '').toLowerCase()}`;
    const askedAs = (pem: X509Certificate): AuditLine[] =>
      audited().filter(({ user }) => user.extra?.['authentication.kubernetes.io/credential-id']?.includes(id(pem)));
    const verbs = new Set(
      askedAs(new X509Certificate(given)).map(({ verb, objectRef }) => `${verb} ${objectRef?.resource}`),
    );
    assert.ok(verbs.has('create certificatesigningrequests'), 'the old one asked for the new one');
    await until(
      'the API server has seen the new one',
      async () => askedAs(renewed).some(({ verb, objectRef }) => verb === 'update' && objectRef?.resource === 'leases'),
      log,
    );
  });

  it('attaches and detaches volumes itself, and the controller ignores them', async () => {
    const { admin } = machine.plane;
    const node = await admin.resource(Nodes).get({ name: NODE });
    assert.equal(node.metadata.annotations?.['volumes.kubernetes.io/controller-managed-attach-detach'], undefined);
    driver = await startCsiDriver(DRIVER, join(machine.directory, NODE), join(folder, 'csi'));
    await admin.resource(CSIDrivers).create({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSIDriver',
      metadata: { name: DRIVER },
      spec: { attachRequired: true },
    });
    const storage = { storage: '1Gi' };
    await admin.resource(PersistentVolumes).create({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'disk' },
      spec: {
        capacity: storage,
        accessModes: ['ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Retain',
        storageClassName: 'none',
        claimRef: key('data'),
        csi: { driver: DRIVER, volumeHandle: 'vol-1' },
      },
    });
    await admin.resource(PersistentVolumeClaims).create({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: key('data'),
      spec: {
        storageClassName: 'none',
        volumeName: 'disk',
        accessModes: ['ReadWriteOnce'],
        resources: { requests: storage },
      },
    });
    await create('attaching', {
      containers: [sleeper({ volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
    });
    const attachments = admin.resource(VolumeAttachments);
    const [attachment] = await until(
      'an attachment is asked for',
      async () => {
        const { items } = await attachments.list();
        return items.length > 0 && items;
      },
      log,
    );
    const name = attachment!.metadata.name ?? '';
    assert.deepEqual(attachment!.spec, {
      attacher: DRIVER,
      nodeName: NODE,
      source: { persistentVolumeName: 'disk' },
    });
    assert.deepEqual(driver.calls, [], 'nothing is mounted before');
    await attachments.patch(
      { name },
      { type: 'merge', patch: { status: { attached: true } } },
      { subresource: 'status' },
    );
    await ready('attaching');
    assert.deepEqual([...new Set(driver.calls)], ['NodeStageVolume vol-1', 'NodePublishVolume vol-1']);
    await remove('attaching');
    await until('the attachment is gone', async () => (await attachments.list()).items.length === 0, log);
    assert.equal(driver.calls.at(-1), 'NodeUnstageVolume vol-1');
    const verbs = (): string[] =>
      audited().flatMap(({ verb, objectRef }) =>
        objectRef?.resource === 'volumeattachments' && verb !== 'get' ? [verb] : [],
      );
    await until('both are the kubelet’s doing', async () => verbs().join() === 'create,delete', log);
  });

  /** A driver that mounts a tmpfs with a file that contains the word. */
  function writeFlexDriver(word: string): void {
    const path = join(drivers, 'example.com~ram', 'ram');
    mkdirSync(join(drivers, 'example.com~ram'), { recursive: true });
    const program = `#!/bin/sh
case $1 in
  init) echo '{"status":"Success","capabilities":{"attach":false}}' ;;
  mount) mount -t tmpfs ram "$2" && echo ${word} > "$2/word" && echo '{"status":"Success"}' ;;
  unmount) umount "$2" && echo '{"status":"Success"}' ;;
  *) echo '{"status":"Not supported"}'; exit 1 ;;
esac
`;
    // Renamed into place: a program that is still open for writing cannot be run.
    writeFileSync(`${path}.new`, program);
    chmodSync(`${path}.new`, 0o755);
    renameSync(`${path}.new`, path);
  }

  it('uses flexVolume drivers of its own folder, also after one is added or changed', async () => {
    const pod = (name: string): Promise<Pod> =>
      create(name, {
        containers: [sleeper({ volumeMounts: [{ name: 'ram', mountPath: '/ram' }] })],
        volumes: [{ name: 'ram', flexVolume: { driver: 'example.com/ram' } }],
      });
    const word = async (name: string): Promise<string> => {
      const { uid } = (await ready(name)).metadata;
      const volumes = join(machine.directory, NODE, 'pods', uid!, 'volumes');
      return readFileSync(join(volumes, 'kubernetes.io~flexvolume/ram/word'), 'utf8').trim();
    };
    await pod('first');
    await said('first', /^FailedMount: .*no flexVolume driver example\.com\/ram/);
    writeFlexDriver('one');
    assert.equal(await word('first'), 'one');
    writeFlexDriver('two');
    await pod('second');
    assert.equal(await word('second'), 'two');
    await remove('first');
    await remove('second');
    await until(
      'both are unmounted',
      async () => {
        const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
        assert.deepEqual(
          mounts.filter((line) => line.includes(machine.directory) && line.includes('ram')),
          [],
        );
        return true;
      },
      log,
    );
  });

  const port = (): number => (JSON.parse(readFileSync(machine.configFile, 'utf8')) as { port: number }).port;

  it('offers its configured cipher suites, and those of TLS 1.3', async () => {
    const connect = (options: ConnectionOptions): Promise<string> =>
      new Promise((resolve) => {
        const socket = connectTls({ host: '127.0.0.1', port: port(), rejectUnauthorized: false, ...options }, () => {
          resolve(`${socket.getProtocol()} ${socket.getCipher().name}`);
          socket.destroy();
        });
        socket.once('error', () => resolve('refused'));
      });
    const old = { maxVersion: 'TLSv1.2' } as const;
    assert.equal(await connect(old), 'TLSv1.2 ECDHE-ECDSA-AES256-GCM-SHA384');
    assert.equal(await connect({ ...old, ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' }), 'refused');
    assert.match(await connect({}), /^TLSv1\.3 /);
  });

  it('authenticates and authorizes callers by the API server, path by path', async () => {
    await must(['create', 'serviceaccount', 'scraper']);
    await must(['create', 'clusterrole', 'scrape', '--verb=get', '--resource=nodes/metrics']);
    await must(['create', 'clusterrolebinding', 'scrape', '--clusterrole=scrape', '--serviceaccount=default:scraper']);
    const token = await must(['create', 'token', 'scraper']);
    const get = (path: string, headers: Record<string, string> = {}): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const options = { host: '127.0.0.1', port: port(), path, headers, rejectUnauthorized: false };
        httpsGet(options, (response) => {
          response.resume();
          resolve(response.statusCode);
        }).once('error', reject);
      });
    const bearer = { authorization: `Bearer ${token}` };
    await until(
      'the permission counts',
      async () => {
        assert.equal(await get('/metrics/resource', bearer), 200);
        return true;
      },
      log,
    );
    const statuses = [
      await get('/pods', bearer),
      await get('/metrics/resource'),
      await get('/metrics/resource', { authorization: 'Bearer nobody' }),
    ];
    assert.deepEqual(statuses, [403, 401, 401]);
  });

  it('preempts a pod to admit a critical one', async () => {
    const node = await machine.plane.admin.resource(Nodes).get({ name: NODE });
    const cpus = Number(node.status?.allocatable?.['cpu']);
    assert.ok(cpus >= 1, 'whole processors');
    const asking = (cpu: string): Container => sleeper({ resources: { requests: { cpu } } });
    await create('holder', { containers: [asking(`${cpus * 1000 - 400}m`)] });
    await ready('holder');
    await create('ordinary', { containers: [asking('500m')] });
    const refused = await becomes('ordinary', 'is refused', ({ status }) => status?.phase === 'Failed');
    assert.equal(refused.status?.reason, 'OutOfcpu');
    await create('critical', { priorityClassName: 'system-node-critical', containers: [asking('500m')] });
    await ready('critical');
    const { status } = await becomes('holder', 'has ended', (pod) => pod.status?.phase === 'Failed');
    assert.deepEqual([status?.reason, status?.message], ['Preempting', 'Preempted in order to admit critical pod']);
    await said('holder', /^Preempting: Preempted in order to admit critical pod$/);
    for (const name of ['holder', 'ordinary', 'critical']) await remove(name);
  });

  it('runs the pods of its URL, and shows them in the API', async () => {
    const mirror = await ready(`listed-${NODE}`);
    assert.equal(mirror.metadata.annotations?.['kubernetes.io/config.source'], 'http');
    assert.deepEqual([...tokens], ['secret']);
  });

  it('reports that a container was killed for lack of memory', async () => {
    await create('greedy', {
      restartPolicy: 'Never',
      containers: [sleeper({ command: ['busybox', 'tail', '/dev/zero'], resources: { limits: { memory: '24Mi' } } })],
    });
    const { status } = await becomes('greedy', 'has failed', (pod) => pod.status?.phase === 'Failed');
    const { reason, exitCode } = status?.containerStatuses?.[0]?.state?.terminated ?? {};
    assert.deepEqual([reason, exitCode], ['OOMKilled', 137]);
    await remove('greedy');
  });

  it('gives a container that failed its probe the grace period of the probe, not that of the pod', async () => {
    const script = 'trap "" TERM; while true; do busybox sleep 1; done';
    await create('stubborn', {
      terminationGracePeriodSeconds: 100_000,
      containers: [
        sleeper({
          command: ['/bin/sh', '-c', script],
          livenessProbe: {
            exec: { command: ['busybox', 'false'] },
            periodSeconds: 1,
            failureThreshold: 1,
            terminationGracePeriodSeconds: 1,
          },
        }),
      ],
    });
    await becomes('stubborn', 'was restarted', (pod) => (pod.status?.containerStatuses?.[0]?.restartCount ?? 0) > 0);
    await said('stubborn', /^Killing: Container app failed liveness probe, will be restarted$/);
    await must(['delete', 'pod', 'stubborn', '--force', '--grace-period=0']);
  });

  it('closes an idle stream', async () => {
    await create('silent', { containers: [sleeper()] });
    await ready('silent');
    // No other cause ends the command, nor kubectl before its own timeout (255).
    const { code } = await machine.plane.kubectl(['exec', 'silent', '--', 'busybox', 'sleep', '100000']);
    assert.notEqual(code, 255);
    await remove('silent');
  });

  it('serves metrics of containers and probes, and the list of pods', async () => {
    const probe = { exec: { command: ['busybox', 'true'] }, periodSeconds: 1 };
    await create('measured', { containers: [sleeper({ readinessProbe: probe })] });
    await ready('measured');
    const page = (path: string): Promise<string> => must(['get', '--raw', `/api/v1/nodes/${NODE}/proxy/${path}`]);
    const shows = (path: string, what: RegExp): Promise<unknown> =>
      until(`${path} shows ${what}`, async () => what.test(await page(path)), log);
    await shows('metrics/probes', /^prober_probe_total\{(?=.*pod="measured")(?=.*probe_type="Readiness").*\} [1-9]/m);
    await shows('metrics/resource', /^container_memory_working_set_bytes\{.*pod="measured".*\} [1-9]/m);
    await shows('metrics/resource', /^node_cpu_usage_seconds_total [\d.]+/m);
    await shows('metrics', /^kubelet_running_pods [1-9]/m);
    await shows('metrics', /^kubelet_running_containers\{container_state="running"\} [1-9]/m);
    await shows('metrics', /^kubelet_runtime_operations_total\{operation_type="run_podsandbox"\} [1-9]/m);
    await shows('metrics/cadvisor', /^container_cpu_usage_seconds_total\{.*pod="measured"/m);
    if (existsSync('/proc/pressure/cpu')) {
      await shows('metrics/cadvisor', /^container_pressure_cpu_waiting_seconds_total\{id="\/"\} [1-9]/m);
      const { node } = JSON.parse(await page('stats/summary')) as { node: NodeStats };
      assert.ok((node.cpu?.psi?.some.total ?? 0) > 0 && node.memory?.psi !== undefined && node.io?.psi !== undefined);
    }
    if (existsSync('/sys/fs/cgroup/cpu.pressure'))
      await shows(
        'metrics/cadvisor',
        /^container_pressure_memory_waiting_seconds_total\{container="app",.*pod="measured"/m,
      );
    const running = JSON.parse(await page('runningpods/')) as { items: Pod[] };
    assert.deepEqual(
      running.items.flatMap(({ metadata, spec }) =>
        metadata.name === 'measured' ? spec?.containers.map(({ name }) => name) : [],
      ),
      ['app'],
    );
    await remove('measured');
  });
});
