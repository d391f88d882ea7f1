/** Routes of a cluster of several nodes: each node serves them, keeps serving without the server, and reads no Secret. */
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createTestAuthority } from '../../src/platform/node/certificates-fixture.ts';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { testImage } from '../../tools/test-image.ts';
import { hashOf, images, keelson, startCluster, type TestCluster } from './cluster-fixture.ts';
import { leftovers } from './fixtures/leftovers.ts';

interface ListedNode {
  readonly name: string;
  readonly address: string;
  readonly dataDir: string;
}

interface StatusOfNode {
  readonly pid: number;
  readonly components: readonly { readonly name: string; readonly healthy: boolean; readonly message: string }[];
}

const HOST = 'web.example';
const ANNOTATION = '{.metadata.annotations.keelson\\.dev/gateway-ports}';

describe('routes on three nodes', () => {
  let cluster: TestCluster;
  let [port, tlsPort, otherPort] = [0, 0, 0];
  let addresses: readonly string[] = [];
  let further: readonly ListedNode[] = [];
  const programs: ChildProcess[] = [];

  before(async () => {
    [port, tlsPort, otherPort] = [await freePort(), await freePort(), await freePort()];
    const gateway = ['--gateway-http-port', String(port), '--gateway-https-port', String(tlsPort)];
    cluster = await startCluster({ flags: ['--nodes', '3', '--node-name', 'home', ...gateway], images: false });
    const archive = join(cluster.dataDir, 'test.tar');
    writeFileSync(archive, testImage().archive);
    await command('image', 'load', archive);
    further = JSON.parse(await command('node', 'ls', '--output', 'json')) as ListedNode[];
    const home = await cluster.kubectl('get node home -o jsonpath={.status.addresses[0].address}');
    addresses = [home, ...further.map(({ address }) => address)];
    // A pod on the node that is disconnected later.
    await runPods('web', 'home-2');
    await runPods('other', 'home');
    await cluster.kubectl('wait --for=condition=Ready pod --all --timeout=120s');
  });
  after(async () => {
    for (const program of programs) program.kill('SIGKILL');
    await cluster?.stop();
    for (const { dataDir } of further)
      assert.deepEqual(await leftovers({ ...cluster, hash: hashOf(dataDir), dataDir }), []);
  });

  const command = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await keelson([...args, '--data-dir', cluster.dataDir]);
    assert.equal(code, 0, stdout + stderr);
    return stdout;
  };
  const runPods = async (name: string, node: string): Promise<void> => {
    const overrides = JSON.stringify({ spec: { nodeName: node, terminationGracePeriodSeconds: 1 } });
    const labels = `--labels=app=${name}`;
    await cluster.kubectl(['run', name, `--image=${images.test}`, labels, '--port=8080', `--overrides=${overrides}`]);
    await cluster.kubectl(`expose pod ${name} --port 80 --target-port 8080`);
  };
  const ingress = (service: string) =>
    cluster.apply({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: { name: 'web' },
      spec: {
        tls: [{ hosts: [HOST], secretName: 'web' }],
        rules: [
          {
            host: HOST,
            http: {
              paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: service, port: { number: 80 } } } }],
            },
          },
        ],
      },
    });
  /** The response body at the address, '' without a response. `of`: the process whose network namespace sends the request. */
  const ask = (url: string, of = process.pid): string => {
    const { protocol, hostname, port: at } = new URL(url);
    const resolve = `${HOST}:${at}:${hostname}`;
    const args = ['-s', '-k', '-m', '8', '--resolve', resolve, `${protocol}//${HOST}:${at}/cgi-bin/hostname`];
    try {
      return execFileSync('nsenter', ['--net', '-t', String(of), 'curl', ...args], { encoding: 'utf8' }).trim();
    } catch {
      return '';
    }
  };
  const answersEverywhere = async (expected: string): Promise<void> => {
    for (const address of addresses)
      for (const url of [`http://${address}:${port}`, `https://${address}:${tlsPort}`])
        await cluster.until(`${expected} at ${url}`, async () => ask(url) === expected);
  };
  const statusOf = async ({ dataDir }: Pick<ListedNode, 'dataDir'>): Promise<StatusOfNode> =>
    JSON.parse((await keelson(['status', '--output', 'json', '--data-dir', dataDir])).stdout) as StatusOfNode;
  const gatewayOf = async (node: ListedNode) =>
    (await statusOf(node)).components.find(({ name }) => name === 'gateway');
  const published = () => cluster.kubectl('get ingress web -o jsonpath={.status.loadBalancer.ingress[*].ip}');
  const portsOf = (node: string) => cluster.kubectl(`get node ${node} -o jsonpath=${ANNOTATION}`);
  /** The pids of a node's data plane and of the process that opens its ports. */
  const dataPlanes = (dataDir: string): readonly string[] => {
    const found = spawnSync('pgrep', ['-f', `gateway-server.*/${hashOf(dataDir)}/`], { encoding: 'utf8' }).stdout;
    return found.trim().split('\n').filter(Boolean);
  };

  it('no process runs on any node before the first route', async () => {
    for (const node of further) {
      assert.equal(await gatewayOf(node), undefined);
      assert.deepEqual(dataPlanes(node.dataDir), []);
    }
  });

  it('an Ingress answers at every node, by TLS with its own certificate, and its status lists all nodes', async () => {
    const { certPem, keyPem } = await (await createTestAuthority('test')).issue(`CN=${HOST}`, [HOST]);
    await cluster.apply({
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/tls',
      metadata: { name: 'web' },
      stringData: { 'tls.crt': certPem, 'tls.key': keyPem },
    });
    await ingress('web');
    await answersEverywhere('web');
    await cluster.until('all addresses', async () => (await published()) === [...addresses].sort().join(' '));
    for (const address of addresses) {
      const text = execFileSync(
        'sh',
        ['-c', `openssl s_client -connect ${address}:${tlsPort} -servername ${HOST} </dev/null 2>/dev/null`],
        { encoding: 'utf8' },
      );
      assert.match(text, new RegExp(HOST.replace('.', '\\.')), `the certificate at ${address}`);
    }
    for (const node of further)
      assert.deepEqual(await gatewayOf(node), { name: 'gateway', healthy: true, message: '' });
  });

  it('a node may read no Secret, and its data plane has the rights of nobody', async () => {
    for (const verb of ['get', 'list', 'watch']) {
      const as = ['--as', 'system:node:home-2', '--as-group', 'system:nodes'];
      const { stdout } = await cluster.outcome(['auth', 'can-i', verb, 'secrets/web', ...as]);
      assert.match(stdout, /^no/);
    }
    const { stdout, stderr } = await cluster.outcome('get --raw /keelson/v1/node-routes');
    assert.match(stdout + stderr, /only nodes of the cluster get routes/);
    const [, serving] = dataPlanes(further[0]!.dataDir);
    assert.match(execFileSync('cat', [`/proc/${serving}/status`], { encoding: 'utf8' }), /^CapEff:\s+0+$/m);
  });

  it('a change takes effect on every node', async () => {
    await ingress('other');
    await answersEverywhere('other');
    await ingress('web');
    await answersEverywhere('web');
  });

  it('a disconnected node serves its last routes, and receives the new ones after it reconnects', async () => {
    const [node] = further as [ListedNode];
    const { pid } = await statusOf(node);
    await command('node', 'partition', 'home-2');
    assert.equal(ask(`http://127.0.0.1:${port}`, pid), 'web');
    await ingress('other');
    await cluster.until('the change', async () => ask(`http://${addresses[2]}:${port}`) === 'other');
    assert.equal(ask(`http://127.0.0.1:${port}`, pid), 'web');
    assert.equal(ask(`https://127.0.0.1:${tlsPort}`, pid), 'web');
    await command('node', 'heal', 'home-2');
    await cluster.until('the new route', async () => ask(`http://127.0.0.1:${port}`, pid) === 'other', 120_000);
    await answersEverywhere('other');
  });

  it('all nodes serve while the server is down, and a killed data plane is restarted', async () => {
    process.kill(await cluster.pid(), 'SIGKILL');
    for (const address of addresses) assert.equal(ask(`http://${address}:${port}`), 'other');
    const [, third] = further as [ListedNode, ListedNode];
    const before_ = dataPlanes(third.dataDir);
    for (const pid of before_) process.kill(Number(pid), 'SIGKILL');
    await cluster.until('a new data plane', async () => ask(`http://${third.address}:${port}`) === 'other');
    await cluster.up();
    await ingress('web');
    await answersEverywhere('web');
  });

  it('a port that a program of one node uses is served by the others, and the node reports the program', async () => {
    const [, third] = further as [ListedNode, ListedNode];
    const { pid } = await statusOf(third);
    const source = `require('net').createServer().listen(${otherPort}, '0.0.0.0', () => console.log('ready'))`;
    const program = spawn('nsenter', ['--net', '-t', String(pid), process.execPath, '-e', source]);
    programs.push(program);
    await new Promise((resolve) => program.stdout.once('data', resolve));
    await cluster.until('the class', async () => (await cluster.outcome('get gatewayclass keelson')).code === 0);
    const gateway = { gatewayClassName: 'keelson', listeners: [{ name: 'http', port: otherPort, protocol: 'HTTP' }] };
    const apiVersion = 'gateway.networking.k8s.io/v1';
    await cluster.apply({ apiVersion, kind: 'Gateway', metadata: { name: 'gw' }, spec: gateway });
    const parent = { parentRefs: [{ name: 'gw' }], hostnames: [HOST] };
    const rules = [{ backendRefs: [{ name: 'web', port: 80 }] }];
    await cluster.apply({ apiVersion, kind: 'HTTPRoute', metadata: { name: 'web' }, spec: { ...parent, rules } });
    for (const address of addresses.slice(0, 2))
      await cluster.until(`the Gateway at ${address}`, async () => ask(`http://${address}:${otherPort}`) === 'web');
    await cluster.until('the record', async () => (await portsOf('home-2')).split(',').includes(String(otherPort)));
    assert.equal((await portsOf('home-3')).split(',').includes(String(otherPort)), false);
    const problem = new RegExp(`port ${otherPort} of routes is used by .* \\(pid \\d+\\)`);
    await cluster.until('the status', async () => problem.test((await gatewayOf(third))?.message ?? ''));
    const addressed = await cluster.kubectl('get gateway gw -o jsonpath={.status.addresses[*].value}');
    assert.equal(addressed, [...addresses].sort().join(' '));
    program.kill('SIGKILL');
    await cluster.until('the port', async () => ask(`http://${third.address}:${otherPort}`) === 'web');
    await cluster.until('its record', async () => (await portsOf('home-3')).split(',').includes(String(otherPort)));
  });

  it('a node that is excluded from load balancers serves none', async () => {
    const label = 'node.kubernetes.io/exclude-from-external-load-balancers';
    await cluster.kubectl(`label node home-3 ${label}=true`);
    await cluster.until('its end', async () => dataPlanes(further[1]!.dataDir).length === 0);
    await cluster.until('two addresses', async () => (await published()) === addresses.slice(0, 2).sort().join(' '));
    await cluster.kubectl(`label node home-3 ${label}-`);
    await answersEverywhere('web');
    await cluster.until('all addresses', async () => (await published()) === [...addresses].sort().join(' '));
  });

  it('the deletion of the last route ends the data planes of all nodes', async () => {
    await cluster.kubectl('delete ingress web');
    await cluster.kubectl('delete gateway gw');
    for (const { dataDir } of further)
      await cluster.until('no data plane', async () => dataPlanes(dataDir).length === 0);
    assert.equal(await portsOf('home-2'), '');
  });

  it('a server that no longer serves routes ends the data planes of its nodes', async () => {
    await ingress('web');
    await answersEverywhere('web');
    await command('down');
    await command('up', '--gateway', 'none', '--detach');
    for (const { dataDir } of further)
      await cluster.until('no data plane', async () => dataPlanes(dataDir).length === 0);
  });
});
