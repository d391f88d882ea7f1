/**
 * The service matrix: each kind of service, protocol and traffic policy, asked from its node, from another node, from a pod
 * and from outside, in every mode of the proxy; and meanwhile no packet for the service range leaves a machine.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { images, keelsonProgram } from './cluster-fixture.ts';
import { createMachines, type Machine, type Machines } from './fixtures/machines.ts';
import { until } from './fixtures/until.ts';
import type { Probe, Probed } from './fixtures/prober.ts';
import { must, type Running } from './fixtures/programs.ts';

const PROBER = join(import.meta.dirname, 'fixtures/prober.ts');
const [HTTP_PORT, UDP_PORT] = [8080, 9000];
const DNS = '10.43.0.10';
const BOTH = 'on-agent on-server';
const MODES = ['nftables', 'iptables', 'userspace'] as const;

/** Words for several answers that are all right. */
const ONE_OF: Readonly<Record<string, readonly string[]>> = {
  one: BOTH.split(' '),
  // The kernel sends few refusals (ICMP) in a row.
  'refused at last': ['refused', 'refused silent'],
  unanswered: ['refused', 'silent', 'refused silent'],
};

/** Who asks. */
type From = 'server' | 'agent' | 'pod' | 'outside';
/** What each hears; those left out are not asked. */
type Heard = Partial<Readonly<Record<From, string>>>;
type Mode = (typeof MODES)[number];

interface Row {
  readonly name: string;
  readonly spec: object;
  /** Which pods: both unless told. */
  readonly selector?: Readonly<Record<string, string>>;
  readonly protocol?: 'tcp' | 'udp';
  /** Modes that answer all of its questions in a way of their own. */
  readonly modes?: Partial<Readonly<Record<Mode, string>>>;
  /** Address and port asked, and what is heard there. */
  readonly asks: readonly (readonly [where: Where, heard: Heard])[];
}

/** Cluster address, DNS name, or a node's own address, with the port. */
type Where = { readonly at: 'cluster' | 'name' | 'server' | 'agent' | string; readonly port: number };

const everyone = (heard: string): Heard => ({ server: heard, agent: heard, pod: heard });
const port = (more: object = {}, protocol: 'TCP' | 'UDP' = 'TCP'): object => ({
  ports: [{ port: 80, protocol, targetPort: protocol === 'TCP' ? HTTP_PORT : UDP_PORT, ...more }],
});
const onServer = { on: 'server' };
const nobody = { on: 'nobody' };

const rows: readonly Row[] = [
  {
    name: 'tcp',
    spec: port(),
    asks: [
      [{ at: 'cluster', port: 80 }, everyone(BOTH)],
      [{ at: 'name', port: 80 }, { pod: BOTH }],
    ],
  },
  {
    // As with upstream's iptables mode nothing refuses what has no rule; it does not leave the machine all the same.
    name: 'wrong-port',
    spec: port(),
    modes: { iptables: 'unanswered', userspace: 'unanswered' },
    asks: [[{ at: 'cluster', port: 81 }, everyone('refused')]],
  },
  { name: 'udp', protocol: 'udp', spec: port({}, 'UDP'), asks: [[{ at: 'cluster', port: 80 }, everyone(BOTH)]] },
  {
    name: 'chosen',
    spec: { clusterIP: '10.43.200.9', ...port() },
    asks: [[{ at: '10.43.200.9', port: 80 }, everyone(BOTH)]],
  },
  {
    name: 'unassigned',
    spec: port(),
    modes: { iptables: 'unanswered', userspace: 'unanswered' },
    asks: [[{ at: '10.43.201.1', port: 80 }, everyone('refused')]],
  },
  {
    name: 'headless',
    spec: { clusterIP: 'None', ...port() },
    asks: [[{ at: 'name', port: HTTP_PORT }, { pod: 'one' }]],
  },
  {
    name: 'alias',
    spec: { type: 'ExternalName', externalName: 'tcp.default.svc.cluster.local' },
    asks: [[{ at: 'name', port: 80 }, { pod: BOTH }]],
  },
  {
    name: 'sticky',
    spec: { sessionAffinity: 'ClientIP', ...port() },
    asks: [[{ at: 'cluster', port: 80 }, everyone('one')]],
  },
  {
    name: 'empty',
    modes: { iptables: 'refused at last' },
    selector: nobody,
    spec: { type: 'NodePort', ...port({ nodePort: 30_010 }) },
    asks: [
      [{ at: 'cluster', port: 80 }, everyone('refused')],
      [
        { at: 'server', port: 30_010 },
        { outside: 'refused', agent: 'refused' },
      ],
    ],
  },
  {
    name: 'internal-local',
    modes: { userspace: 'refused' },
    spec: { internalTrafficPolicy: 'Local', ...port() },
    asks: [
      [
        { at: 'cluster', port: 80 },
        { server: 'on-server', agent: 'on-agent', pod: 'on-server' },
      ],
    ],
  },
  {
    name: 'internal-local-none',
    modes: { userspace: 'refused' },
    selector: onServer,
    spec: { internalTrafficPolicy: 'Local', ...port() },
    asks: [
      [
        { at: 'cluster', port: 80 },
        { server: 'on-server', agent: 'silent' },
      ],
    ],
  },
  {
    name: 'node-port',
    spec: { type: 'NodePort', ...port({ nodePort: 30_001 }) },
    asks: [
      [{ at: 'cluster', port: 80 }, everyone(BOTH)],
      [
        { at: 'server', port: 30_001 },
        { ...everyone(BOTH), outside: BOTH },
      ],
      [
        { at: 'agent', port: 30_001 },
        { ...everyone(BOTH), outside: BOTH },
      ],
    ],
  },
  {
    name: 'node-port-udp',
    protocol: 'udp',
    spec: { type: 'NodePort', ...port({ nodePort: 30_002 }, 'UDP') },
    asks: [
      [
        { at: 'server', port: 30_002 },
        { ...everyone(BOTH), outside: BOTH },
      ],
    ],
  },
  {
    name: 'external-local',
    modes: { userspace: 'refused' },
    spec: { type: 'NodePort', externalTrafficPolicy: 'Local', ...port({ nodePort: 30_003 }) },
    asks: [
      // Pods are inside wherever they ask; on the way to another node they bear their own node's address.
      [
        { at: 'server', port: 30_003 },
        { outside: 'on-server', pod: BOTH },
      ],
      [
        { at: 'agent', port: 30_003 },
        { outside: 'on-agent', pod: 'on-agent' },
      ],
    ],
  },
  {
    name: 'external-local-none',
    modes: { userspace: 'refused' },
    selector: onServer,
    spec: { type: 'NodePort', externalTrafficPolicy: 'Local', ...port({ nodePort: 30_004 }) },
    asks: [
      [{ at: 'server', port: 30_004 }, { outside: 'on-server' }],
      [{ at: 'agent', port: 30_004 }, { outside: 'silent' }],
    ],
  },
  {
    name: 'balanced',
    spec: { type: 'LoadBalancer', ...port({ port: 8_001 }) },
    asks: [
      [
        { at: 'server', port: 8_001 },
        { outside: BOTH, pod: BOTH },
      ],
      [{ at: 'agent', port: 8_001 }, { outside: BOTH }],
    ],
  },
  {
    name: 'balanced-for-some',
    modes: { userspace: 'refused' },
    spec: { type: 'LoadBalancer', loadBalancerSourceRanges: ['198.51.100.0/24'], ...port({ port: 8_002 }) },
    asks: [[{ at: 'server', port: 8_002 }, { outside: 'silent' }]],
  },
  {
    name: 'external-ip',
    spec: { externalIPs: ['198.51.100.7'], ...port({ port: 8_003 }) },
    asks: [[{ at: '198.51.100.7', port: 8_003 }, everyone(BOTH)]],
  },
];

describe('service matrix', () => {
  let machines: Machines;
  let server: Machine;
  let agent: Machine;
  let outside: Machine;
  let podAddress: string;
  const clusterIps = new Map<string, string>();
  const probers: Running[] = [];

  before(async () => {
    machines = await createMachines([0, 0, 0]);
    [server, agent, outside] = machines.list as [Machine, Machine, Machine];
    await server.keelson('server --node-name server --detach');
    const token = (await server.keelson('token create')).trim();
    // The kernel sends few refusals by ICMP in a row, fewer than are asked for here.
    for (const machine of [server, agent])
      await machine.must('sh', ['-c', 'echo 0 > /proc/sys/net/ipv4/icmp_ratelimit']);
    await agent.keelson(`agent --node-name agent --server https://${server.address}:6443 --token ${token} --detach`);
    await Promise.all([server, agent].map((machine) => machine.importImages()));
    await server.kubectl('apply -f -', { input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects() }) });
    for (const machine of machines.list) {
      const prober = machine.start(process.execPath, [PROBER, machine.name, '18080', '18081']);
      probers.push(prober);
      await prober.until(/serving/);
    }
    await server.kubectl('wait --for=condition=Ready pod --all --timeout=120s');
    podAddress = await server.kubectl('get pod on-server -o jsonpath={.status.podIP}');
    for (const { name } of rows)
      clusterIps.set(name, await server.kubectl(`get service ${name} -o jsonpath={.spec.clusterIP}`));
    await countOnTheLink();
  });
  after(async () => {
    for (const prober of probers) prober.kill('SIGKILL');
    await machines?.remove();
  });

  /** Pods that run the prober by the machine's own files, and the services. */
  function objects(): object[] {
    const pods = ['server', 'agent'].map((node) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `on-${node}`, labels: { app: 'matrix', on: node } },
      spec: {
        nodeName: node,
        terminationGracePeriodSeconds: 0,
        containers: [
          {
            name: 'prober',
            image: images.test,
            command: ['busybox', 'chroot', '/host', process.execPath, PROBER, `on-${node}`, '8080', '9000'],
            readinessProbe: { tcpSocket: { port: HTTP_PORT }, periodSeconds: 1 },
            volumeMounts: [{ name: 'host', mountPath: '/host', readOnly: true }],
          },
        ],
        volumes: [{ name: 'host', hostPath: { path: '/' } }],
      },
    }));
    const services = rows.map(({ name, spec, selector = { app: 'matrix' } }) => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec: { ...spec, ...('externalName' in spec ? {} : { selector }) },
    }));
    return [...pods, ...services];
  }

  /** Counts, beyond the machines, what they send to the service range. */
  async function countOnTheLink(): Promise<void> {
    const chains = [0, 1, 2].map(
      (at) => `chain m${at} {
        type filter hook ingress device m${at} priority 0; policy accept;
        ip daddr 10.43.0.0/16 counter comment "strays"
      }`,
    );
    const script = `table netdev matrix {\n${chains.join('\n')}\n}\n`;
    await must('ip', ['netns', 'exec', machines.switchNamespace, 'nft', '-f', '-'], { input: script });
  }
  async function strays(at: number): Promise<number> {
    const chain = ['nft', 'list', 'chain', 'netdev', 'matrix', `m${at}`];
    const text = await must('ip', ['netns', 'exec', machines.switchNamespace, ...chain]);
    return Number(/packets (\d+)/.exec(text)?.[1] ?? Number.NaN);
  }

  const hostOf = (at: Where['at'], name: string): string => {
    if (at === 'cluster') return clusterIps.get(name) ?? '';
    if (at === 'name') return `${name}.default.svc.cluster.local`;
    if (at === 'server') return server.address;
    return at === 'agent' ? agent.address : at;
  };
  const ask = async (from: From, probes: readonly Probe[]): Promise<Probed> => {
    const machine = { server, agent, outside, pod: server }[from];
    const url = from === 'pod' ? `http://${podAddress}:${HTTP_PORT}/probe` : 'http://127.0.0.1:18080/probe';
    return JSON.parse(await machine.must('curl', ['-s', '-m', '150', '--data', JSON.stringify(probes), url])) as Probed;
  };
  /** The cells that are not as the table says. */
  const differing = async (from: From, mode: Mode): Promise<string[]> => {
    const cells = rows.flatMap(({ name, protocol = 'tcp', asks, modes }) =>
      asks.flatMap(([where, heard]) => {
        const wanted = heard[from];
        const id = `${name} at ${where.at}:${where.port} from ${from}`;
        const host = hostOf(where.at, name);
        return wanted === undefined
          ? []
          : [{ wanted: modes?.[mode] ?? wanted, probe: { id, protocol, host, port: where.port, dns: DNS } }];
      }),
    );
    const results = await ask(
      from,
      cells.map((cell) => cell.probe),
    );
    return cells.flatMap(({ wanted, probe: { id } }) => {
      const heard = results[id] ?? 'nothing';
      const right = (ONE_OF[wanted] ?? [wanted]).includes(heard);
      return right ? [] : [`${id}: ${heard}, not ${wanted}`];
    });
  };
  const restart = async (machine: Machine, args: string): Promise<void> => {
    process.kill(await machine.pid(), 'SIGTERM');
    const status = [keelsonProgram, 'status', '--data-dir', machine.dataDir];
    await until('its end', async () => (await machine.run(process.execPath, status)).code !== 0);
    await machine.keelson(args);
  };

  for (const [index, mode] of MODES.entries())
    it(mode, async () => {
      if (index > 0)
        await Promise.all([
          restart(server, `server --node-name server --proxy-mode ${mode} --detach`),
          restart(agent, `agent --node-name agent --proxy-mode ${mode} --detach`),
        ]);
      let wrong: readonly string[] = [];
      // Rules come within moments; what is wrong after so many tries is wrong.
      for (let tries = 0; tries < 15; tries++) {
        wrong = (
          await Promise.all((['server', 'agent', 'pod', 'outside'] as const).map((from) => differing(from, mode)))
        ).flat();
        if (wrong.length === 0) break;
        await sleep(1_000);
      }
      assert.deepEqual(wrong, []);
    });

  it('no packet for the service range has left a machine', async () => {
    assert.deepEqual([await strays(0), await strays(1)], [0, 0]);
    // That the counter counts: a machine without rules sends them to its default route.
    await outside.run('curl', ['-s', '-m', '1', 'http://10.43.0.1/']);
    assert.ok((await strays(2)) > 0);
  });
});
