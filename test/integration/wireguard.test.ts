/**
 * Encrypted tunnels between nodes: three machines with both address families, the last one behind a router. A table of
 * nftables on the switches counts what crosses the wire.
 */
import assert from 'node:assert/strict';
import { existsSync, rmSync, statSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { images } from './cluster-fixture.ts';
import { createMachines, type Machine, type Machines } from './fixtures/machines.ts';
import { endProcess, must, run } from './fixtures/programs.ts';
import { until } from './fixtures/until.ts';

const RANGES = '--cluster-cidr 10.42.0.0/16,fd42::/56 --service-cidr 10.43.0.0/16,fd43::/112';
const NAMES = ['server', 'agent', 'far'];

/** Counts packets that enter the switches: of pods in plain, of VXLAN, and of WireGuard. */
const WIRE = `table bridge wire {
  counter plain { }
  counter tunnelled { }
  chain in {
    type filter hook prerouting priority -300;
    ip saddr 10.42.0.0/16 counter name plain
    ip daddr 10.42.0.0/16 counter name plain
    ip6 saddr fd42::/56 counter name plain
    ip6 daddr fd42::/56 counter name plain
    udp dport 8472 counter name plain
    udp dport 51820 counter name tunnelled
  }
}`;

const programs = await run('sh', ['-c', 'command -v wg && command -v wireguard-go']);
const skip = programs.code === 0 ? false : 'wg and wireguard-go are not installed (wireguard-tools, wireguard-go)';

describe('nodes that are connected by WireGuard', { skip }, () => {
  let machines: Machines;
  let server: Machine;
  let agent: Machine;
  let far: Machine;
  before(async () => {
    machines = await createMachines([0, 0, 1]);
    [server, agent, far] = machines.list as [Machine, Machine, Machine];
    for (const [at, machine] of [server, agent].entries())
      await machine.must('ip', `-6 addr add fd30::${at + 1}/64 dev eth0 nodad`);
    await must('ip', ['netns', 'exec', machines.switchNamespace, 'nft', WIRE]);
    await server.keelson(`server --node-name server --flannel-backend wireguard-native ${RANGES} --detach`);
    const token = (await server.keelson('token create')).trim();
    // They learn the backend from the cluster.
    const join = `--server https://${server.address}:6443 --token ${token} --detach`;
    await Promise.all([agent.keelson(`agent --node-name agent ${join}`), far.keelson(`agent --node-name far ${join}`)]);
    await Promise.all(machines.list.map((machine) => machine.importImages()));
    for (const node of NAMES) {
      const overrides = JSON.stringify({ spec: { nodeName: node, terminationGracePeriodSeconds: 1 } });
      const args = [`on-${node}`, `--image=${images.test}`, `--overrides=${overrides}`, '--labels=app=web'];
      await server.kubectl(['run', ...args]);
    }
    await server.kubectl('create service nodeport web --tcp=80:8080 --node-port=30080');
    await server.kubectl('wait --for=condition=Ready pod --all --timeout=120s');
  });
  after(() => machines?.remove());

  const counted = async (name: string): Promise<number> => {
    const listing = await must('ip', [
      ...['netns', 'exec', machines.switchNamespace, 'nft', 'list', 'counter', 'bridge', 'wire', name],
    ]);
    return Number(/packets (\d+)/.exec(listing)?.[1]);
  };
  const fetchFrom = async (pod: string, url: string): Promise<string> =>
    (await server.kubectl(['exec', pod, '--', 'curl', '-s', '-m', '3', url])).trim();
  const addressesOf = async (pod: string): Promise<string[]> => {
    const ips = await server.kubectl(`get pod ${pod} -o jsonpath={.status.podIPs[*].ip}`);
    return ips.split(' ').map((ip) => (ip.includes(':') ? `[${ip}]` : ip));
  };
  const reaches = async (from: string, to: string): Promise<void> => {
    for (const address of await addressesOf(to))
      await until(
        `${from} to ${to} at ${address}`,
        async () => (await fetchFrom(from, `http://${address}:8080/cgi-bin/hostname`).catch(() => '')) === to,
      );
  };
  /** Of its own device: programs of all these machines have their sockets in one folder. */
  const peersOf = (machine: Machine): Promise<string> => machine.must('wg', `show kw${machine.hash} peers`);
  const publishedKey = (node: string): Promise<string> =>
    server.kubectl(`get node ${node} -o jsonpath={.metadata.annotations.flannel\\.alpha\\.coreos\\.com/backend-data}`);

  it('connects pods of all nodes in both families, each seen with its own address', async () => {
    for (const from of NAMES) for (const to of NAMES) await reaches(`on-${from}`, `on-${to}`);
    const [client = ''] = await addressesOf('on-agent');
    const [address] = await addressesOf('on-far');
    assert.match(await fetchFrom('on-agent', `http://${address}:8080/cgi-bin/client`), new RegExp(`${client}\\]?$`));
    assert.match(await agent.must('ip', 'route'), new RegExp(`dev kw${agent.hash} proto 199`));
    assert.match(await server.keelson('status'), /wireguard ok/);
  });

  it('serves services and node ports across nodes, to pods and to the machines themselves', async () => {
    const address = await server.kubectl('get service web -o jsonpath={.spec.clusterIP}');
    for (const from of NAMES) {
      const seen = new Set<string>();
      await until(`all three from ${from}`, async () => {
        seen.add(await fetchFrom(`on-${from}`, `http://${address}/cgi-bin/hostname`).catch(() => ''));
        seen.delete('');
        return seen.size === 3;
      });
    }
    for (const machine of machines.list)
      for (const target of machines.list) {
        const seen = new Set<string>();
        await until(`all three through ${target.name} from ${machine.name}`, async () => {
          const answer = await machine.fetch(`http://${target.address}:30080/cgi-bin/hostname`);
          if (answer !== '') seen.add(answer);
          return seen.size === 3;
        });
      }
    const [pod] = await addressesOf('on-far');
    await until('a machine to a pod', async () => (await server.fetch(`http://${pod}:8080/cgi-bin/hostname`)) !== '');
  });

  it('carries packets as large as the way allows', async () => {
    const [address] = await addressesOf('on-far');
    await server.kubectl(['exec', 'on-far', '--', 'sh', '-c', 'head -c 2000000 /dev/zero > /tmp/www/big']);
    const args = ['-s', '-m', '60', '-o', '/dev/null', '-w', '%{size_download}', `http://${address}:8080/big`];
    assert.equal(await server.kubectl(['exec', 'on-agent', '--', 'curl', ...args]), '2000000');
    assert.equal((await server.kubectl('exec on-agent -- cat /sys/class/net/eth0/mtu')).trim(), '1420');
  });

  it('lets no packet of a pod cross the wire in plain', async () => {
    assert.ok((await counted('tunnelled')) > 1000);
    assert.equal(await counted('plain'), 0);
  });

  it('keeps the private key to the machine', async () => {
    for (const { dataDir } of machines.list) assert.equal(statSync(`${dataDir}/wireguard.key`).mode & 0o777, 0o600);
  });

  it('drops packets that come past the tunnels with the address of a pod', async () => {
    const [spoofed = ''] = await addressesOf('on-agent');
    const [target = ''] = await addressesOf('on-server');
    // The rules are written anew each minute, and their counters with them.
    const dropped = async (): Promise<number> =>
      Number(/oif missing counter packets (\d+)/.exec(await server.must('nft', 'list ruleset'))?.[1]);
    const inSwitch = ['netns', 'exec', machines.switchNamespace];
    await must('ip', [...inSwitch, 'ip', 'addr', 'add', `${spoofed}/32`, 'dev', 'sw0']);
    await must('ip', [...inSwitch, 'ip', 'route', 'add', target, 'via', server.address]);
    const url = `http://${target}:8080/cgi-bin/hostname`;
    await until('a dropped packet', async () => {
      const outcome = await run('ip', [...inSwitch, 'curl', '-s', '-m', '2', '--interface', spoofed, url]);
      assert.notEqual(outcome.code, 0);
      return (await dropped()) > 0;
    });
    await must('ip', [...inSwitch, 'ip', 'route', 'del', target]);
    await must('ip', [...inSwitch, 'ip', 'addr', 'del', `${spoofed}/32`, 'dev', 'sw0']);
  });

  it('enforces network policies between nodes', async () => {
    const policy = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'from-far' },
      spec: {
        podSelector: { matchLabels: { run: 'guarded' } },
        ingress: [{ from: [{ podSelector: { matchLabels: { may: 'enter' } } }] }],
      },
    };
    await server.kubectl('apply -f -', { input: JSON.stringify(policy) });
    const overrides = '{"spec":{"nodeName":"server","terminationGracePeriodSeconds":1}}';
    await server.kubectl(['run', 'guarded', `--image=${images.test}`, `--overrides=${overrides}`]);
    await server.kubectl('label pod on-far may=enter');
    await server.kubectl('wait --for=condition=Ready pod guarded --timeout=120s');
    await reaches('on-far', 'guarded');
    const [address] = await addressesOf('guarded');
    await assert.rejects(fetchFrom('on-agent', `http://${address}:8080/cgi-bin/hostname`));
    await server.kubectl('delete networkpolicy from-far');
    await reaches('on-agent', 'guarded');
    await server.kubectl('delete pod guarded --now');
  });

  it('keeps its tunnels while keelson is away and when it is back', async () => {
    const device = `/sys/class/net/kw${agent.hash}/ifindex`;
    const index = await agent.must('cat', [device]);
    const [address] = await addressesOf('on-agent');
    await endProcess(await agent.pid());
    for (let count = 0; count < 3; count++)
      assert.equal(await server.fetch(`http://${address}:8080/cgi-bin/hostname`, 30), 'on-agent');
    await agent.keelson('agent --node-name agent --detach');
    assert.equal(await agent.must('cat', [device]), index);
    await reaches('on-agent', 'on-far');
    await reaches('on-server', 'on-agent');
  });

  it('makes the device again when the program behind it is killed', async (test) => {
    const record = `/run/keelson/${agent.hash}/wireguard.json`;
    if (!existsSync(record)) return test.skip('the kernel has WireGuard');
    const { pid } = JSON.parse(await agent.must('cat', [record])) as { pid: number };
    process.kill(pid, 'SIGKILL');
    await until('another program', async () => {
      const now = JSON.parse((await agent.run('cat', [record])).stdout || '{}') as { pid?: number };
      return now.pid !== undefined && now.pid !== pid;
    });
    await reaches('on-server', 'on-agent');
    await reaches('on-agent', 'on-far');
  });

  it('follows a key that changes', async () => {
    const before = await publishedKey('agent');
    await endProcess(await agent.pid());
    rmSync(`${agent.dataDir}/wireguard.key`);
    await agent.keelson('agent --node-name agent --detach');
    await until('the new key', async () => (await publishedKey('agent')) !== before);
    const { PublicKey: key } = JSON.parse(await publishedKey('agent')) as { PublicKey: string };
    await until('its peers', async () => (await peersOf(server)).includes(key));
    await reaches('on-server', 'on-agent');
    await reaches('on-agent', 'on-far');
    assert.doesNotMatch(
      await peersOf(server),
      new RegExp((JSON.parse(before) as { PublicKey: string }).PublicKey.replaceAll('+', '\\+')),
    );
    assert.equal(await counted('plain'), 0);
  });

  it('refuses a node the key of another', async () => {
    const data = (await publishedKey('server')).replaceAll('"', '\\"');
    const patch = `{"metadata":{"annotations":{"flannel.alpha.coreos.com/backend-data":"${data}"}}}`;
    const args = [
      'patch',
      'node',
      'far',
      '--type=merge',
      '-p',
      patch,
      '--as=system:node:far',
      '--as-group=system:nodes',
    ];
    await assert.rejects(server.kubectl(args), /not allowed to publish the WireGuard key of node "server"/);
  });

  it('forgets a node that has left', async () => {
    const { PublicKey: key } = JSON.parse(await publishedKey('far')) as { PublicKey: string };
    await endProcess(await far.pid(), 'SIGTERM');
    await server.kubectl('delete node far');
    await until('the peer to go', async () => !(await peersOf(server)).includes(key));
    assert.equal(await counted('plain'), 0);
  });
});

describe('a cluster that changes what connects its nodes', { skip }, () => {
  let machines: Machines;
  let server: Machine;
  let agent: Machine;
  before(async () => {
    machines = await createMachines([0, 0]);
    [server, agent] = machines.list as [Machine, Machine];
    await server.keelson('server --node-name server --detach');
    const token = (await server.keelson('token create')).trim();
    const join = `--server https://${server.address}:6443 --token ${token} --detach`;
    await agent.keelson(`agent --node-name agent ${join}`);
    await agent.importImages();
    const overrides = '{"spec":{"nodeName":"agent","terminationGracePeriodSeconds":1}}';
    await server.kubectl(['run', 'web', `--image=${images.test}`, `--overrides=${overrides}`]);
    await server.kubectl('wait --for=condition=Ready pod web --timeout=120s');
  });
  after(() => machines?.remove());

  const restart = async (machine: Machine, command: string): Promise<void> => {
    await endProcess(await machine.pid(), 'SIGTERM');
    await machine.keelson(command);
  };
  const reachesPod = async (): Promise<void> => {
    const address = await server.kubectl('get pod web -o jsonpath={.status.podIP}');
    await until('the pod', async () => (await server.fetch(`http://${address}:8080/cgi-bin/hostname`)) === 'web');
  };
  const routes = (): Promise<string> => server.must('ip', 'route show proto 199');

  it('goes to tunnels and back, and never in plain meanwhile', async () => {
    await reachesPod();
    assert.match(await routes(), /^10\.42\.1\.0\/24 via 172\.30\.0\.2 dev eth0 $/m);
    await restart(server, 'server --node-name server --flannel-backend wireguard-native --detach');
    await until('no plain route', async () => (await routes()).trim() === 'unreachable 10.42.0.0/16');
    await restart(agent, 'agent --node-name agent --flannel-backend wireguard-native --detach');
    await reachesPod();
    assert.match(await routes(), new RegExp(`^10\\.42\\.1\\.0/24 dev kw${server.hash} `, 'm'));
    // Remembered.
    await restart(server, 'server --node-name server --detach');
    await reachesPod();
    assert.match(await routes(), new RegExp(`^10\\.42\\.1\\.0/24 dev kw${server.hash} `, 'm'));
    for (const [machine, command] of [
      [server, 'server --node-name server'],
      [agent, 'agent --node-name agent'],
    ] as const)
      await restart(machine, `${command} --flannel-backend vxlan --detach`);
    await reachesPod();
    await until('the plain route alone', async () =>
      /^10\.42\.1\.0\/24 via 172\.30\.0\.2 dev eth0 *$/.test((await routes()).trim()),
    );
    assert.doesNotMatch(await server.must('ip', '-o link'), /kw/);
    const annotations = '-o jsonpath={.items[*].metadata.annotations}';
    await until('no key', async () => !(await server.kubectl(`get nodes ${annotations}`)).includes('PublicKey'));
  });
});
