/**
 * Pods with the same host port on different addresses and protocols of a node, in every mode of the proxy, as in upstream's
 * conformance test of host ports. Also: the routes for loopback addresses give no pod access to them.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { images } from './cluster-fixture.ts';
import { createMachines, type Machine, type Machines } from './fixtures/machines.ts';
import { keelsonProgram, type Running } from './fixtures/programs.ts';
import { until } from './fixtures/until.ts';

const [PORT, PRIVATE_PORT] = [54_323, 54_324];

/** In a pod: routes packets to 127.0.0.1 to its device, and accepts the answers. */
const CRAFTED_ROUTE = `set -e
for device in all eth0; do
  echo 1 > /proc/sys/net/ipv4/conf/$device/route_localnet
  echo 0 > /proc/sys/net/ipv4/conf/$device/rp_filter
done
gateway=$(busybox ip route | busybox sed -n 's/^default via \\([^ ]*\\).*/\\1/p')
busybox ip addr del 127.0.0.1/8 dev lo
busybox ip route add 127.0.0.1/32 via $gateway dev eth0`;

/** Answers datagrams with its name. */
const ECHO =
  "const u = require('dgram').createSocket('udp4'); u.on('message', (m, r) => u.send(process.argv[1], r.port, r.address)); u.bind(8080)";

function pod(name: string, { hostIP, protocol }: { readonly hostIP: string; readonly protocol: string }): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'c',
          image: images.test,
          ...(protocol === 'UDP' && { command: ['busybox', 'chroot', '/host', process.execPath, '-e', ECHO, name] }),
          volumeMounts: [{ name: 'host', mountPath: '/host', readOnly: true }],
          securityContext: { privileged: true },
          ports: [{ containerPort: 8080, hostPort: PORT, hostIP, protocol }],
        },
      ],
      volumes: [{ name: 'host', hostPath: { path: '/' } }],
    },
  };
}

describe('host ports', () => {
  let machines: Machines;
  let node: Machine;
  let listener: Running | undefined;
  let bridge: string;
  before(async () => {
    machines = await createMachines([0]);
    [node] = machines.list as [Machine];
    bridge = `kl${node.hash}`;
    await node.keelson('server --node-name node --detach');
    await node.importImages();
    listener = node.start(process.execPath, [
      '-e',
      `require('http').createServer((_, r) => r.end('private')).listen(${PRIVATE_PORT}, '127.0.0.1', () => console.log('listening'))`,
    ]);
    await listener.until(/listening/);
    // An ordinary pod: no rule accepts its packets.
    await node.kubectl(`run attacker --image=${images.test} --privileged`);
    await node.kubectl('wait --for=condition=Ready pod/attacker --timeout=120s');
    assert.equal(await localnet(bridge), '0');
    const items = [
      pod('one', { hostIP: '127.0.0.1', protocol: 'TCP' }),
      pod('two', { hostIP: node.address, protocol: 'TCP' }),
      pod('three', { hostIP: node.address, protocol: 'UDP' }),
    ];
    await node.kubectl('apply -f -', { input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) });
    await node.kubectl('wait --for=condition=Ready pod --all --timeout=120s');
  });
  after(async () => {
    listener?.kill('SIGKILL');
    await machines?.remove();
  });

  const localnet = async (device: string): Promise<string> =>
    (await node.must('cat', [`/proc/sys/net/ipv4/conf/${device}/route_localnet`])).trim();
  const ask = async (address: string, path: string, ...flags: string[]): Promise<string> =>
    (await node.run('curl', ['-s', '-m', '5', ...flags, `http://${address}:${PORT}/cgi-bin/${path}`])).stdout.trim();
  const fromPod = (port: number, path = ''): Promise<string> =>
    node
      .kubectl(['exec', 'attacker', '--', 'bash', '-c', `curl -s -m 2 http://127.0.0.1:${port}/${path} || true`])
      .then((text) => text.trim());

  for (const mode of ['nftables', 'iptables', 'userspace'] as const)
    it(`${mode}: each pod answers on its own address and protocol`, async () => {
      if (mode !== 'nftables') {
        process.kill(await node.pid(), 'SIGTERM');
        const status = [keelsonProgram, 'status', '--data-dir', node.dataDir];
        await until('its end', async () => (await node.run(process.execPath, status)).code !== 0);
        await node.keelson(`server --node-name node --proxy-mode ${mode} --detach`);
      }
      await until('an answer on loopback', () => ask('127.0.0.1', 'hostname'));
      const gateway = await node.must('sh', ['-c', `ip -o -4 addr show ${bridge} | sed 's/.*inet \\([^/]*\\).*/\\1/'`]);
      for (let time = 0; time < 3; time++) {
        assert.equal(await ask('127.0.0.1', 'hostname'), 'one');
        assert.equal(await ask('127.0.0.1', 'hostname', '--interface', node.address), 'one');
        assert.equal(await ask('127.0.0.1', 'client'), `[::ffff:${gateway.trim()}]`);
        assert.equal(await ask(node.address, 'hostname'), 'two');
      }
      const datagram = `exec 3<>/dev/udp/${node.address}/${PORT}; echo hello >&3; timeout 2 head -c 5 <&3`;
      await until('the datagram', async () => (await node.run('bash', ['-c', datagram])).stdout === 'three', 20_000);
      assert.deepEqual([await localnet(bridge), await localnet('all'), await localnet('eth0')], ['1', '0', '0']);
    });

  it('no pod reaches a listener on a loopback address of the node, nor its host ports', async () => {
    const path = 'cgi-bin/hostname';
    await node.kubectl(['exec', 'attacker', '--', 'busybox', 'sh', '-c', CRAFTED_ROUTE]);
    assert.deepEqual([await fromPod(PRIVATE_PORT), await fromPod(PORT, path)], ['', '']);
    // Without the guard's rules the route does lead there. The guard restores them every minute.
    await until('what the guard keeps away', async () => {
      await node.must('nft', `flush chain ip keelson-${node.hash}-pods guard-loopback`);
      return (await fromPod(PRIVATE_PORT)) === 'private' && (await fromPod(PORT, path)) === 'one';
    });
  });
});
