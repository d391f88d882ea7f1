/** A pod network that the user installs (`--cni none`): Keelson waits for it, runs pods on it, and does not change its files. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { images } from './cluster-fixture.ts';
import { createMachines, type Machine, type Machines } from './fixtures/machines.ts';
import { endProcess, keelsonProgram } from './fixtures/programs.ts';
import { until } from './fixtures/until.ts';

const RANGES = '--cluster-cidr 10.244.0.0/16 --service-cidr 10.96.0.0/16';
/** The machine's own /etc and /opt, where they differ from the host's. */
const OWN_FOLDERS = `set -e
mount -t tmpfs tmpfs /mnt
for dir in etc opt; do
  mkdir -p /mnt/$dir/upper /mnt/$dir/work
  mount -t overlay overlay -o lowerdir=/$dir,upperdir=/mnt/$dir/upper,workdir=/mnt/$dir/work /$dir
done
rm -rf /etc/cni /opt/cni`;
const CONFIG = '/etc/cni/net.d/10-user.conflist';

const userNetwork = (subnet: string): string =>
  JSON.stringify({
    cniVersion: '0.4.0',
    name: 'user',
    plugins: [
      {
        type: 'bridge',
        bridge: 'user0',
        isGateway: true,
        hairpinMode: true,
        ipam: { type: 'host-local', ranges: [[{ subnet }]], routes: [{ dst: '0.0.0.0/0' }], dataDir: '/mnt/ipam' },
      },
    ],
  });

describe('a pod network of the user', () => {
  let machines: Machines;
  let node: Machine;
  before(async () => {
    machines = await createMachines([0]);
    [node] = machines.list as [Machine];
    await node.must('sh', ['-c', OWN_FOLDERS]);
    // `--detach` does not wait for the pod network, which can only be installed afterwards.
    await node.keelson(`server --node-name node --cni none ${RANGES} --detach`);
  });
  after(() => machines?.remove());

  it('is awaited by a node that reports so', async () => {
    const ready = 'jsonpath={.status.conditions[?(@.type=="Ready")].message}';
    await until('the reason', async () =>
      (await node.kubectl(['get', 'node', 'node', '-o', ready])).includes('cni plugin not initialized'),
    );
    await node.must('sh', ['-c', 'mkdir -p /opt/cni/bin /etc/cni/net.d && cp /usr/lib/cni/* /opt/cni/bin/']);
    const range = await node.kubectl('get node node -o jsonpath={.spec.podCIDR}');
    assert.match(range, /^10\.244\.\d+\.0\/24$/);
    await node.must('tee', [CONFIG], { input: userNetwork(range) });
    await node.kubectl('wait --for=condition=Ready node/node --timeout=120s');
  });

  it('carries pods, services and DNS', async () => {
    await node.importImages();
    await node.kubectl(`create deployment web --image=${images.test} --port=8080`);
    await node.kubectl('expose deployment web --port=80 --target-port=8080');
    await node.kubectl('rollout status deployment/web --timeout=120s');
    assert.match(await node.kubectl('get pods -o jsonpath={.items[0].status.podIP}'), /^10\.244\./);
    const address = await node.kubectl('get service web -o jsonpath={.spec.clusterIP}');
    await until('an answer', async () => (await node.fetch(`http://${address}/cgi-bin/hostname`)).startsWith('web-'));
    await until('an answer by name', async () => {
      const curl = ['exec', 'deploy/web', '--', 'curl', '-s', '-m', '3', 'http://web/cgi-bin/hostname'];
      return (await node.kubectl(curl)).startsWith('web-');
    });
    const links = await node.must('ip', '-o link');
    assert.match(links, /user0/);
    assert.doesNotMatch(links, new RegExp(`kl${node.hash}|kv${node.hash}`));
    assert.doesNotMatch(await node.must('nft', 'list tables'), /policies/);
  });

  it('keeps its files, and stays the setting of the cluster', async () => {
    await node.kubectl('delete deployment web');
    await until('no pods', async () => (await node.kubectl('get pods -o name')) === '' || undefined);
    await endProcess(await node.pid(), 'SIGTERM');
    const other = ['server', '--data-dir', node.dataDir, '--node-name', 'node', '--cni', 'keelson'];
    const { code, stderr } = await node.run(process.execPath, [keelsonProgram, ...other]);
    assert.equal(code, 1);
    assert.match(stderr, /cni/);
    await node.keelson('down');
    assert.match(await node.must('cat', [CONFIG]), /"user0"/);
    assert.equal((await node.must('ls', ['/etc/cni/net.d'])).trim(), '10-user.conflist');
    assert.match(await node.must('ls', ['/opt/cni/bin']), /host-local/);
  });
});
