/**
 * The service matrix: each kind of service, protocol and traffic policy, requested from its node, another node, a pod and
 * outside, in every mode of the proxy, while endpoints appear, terminate and vanish. Meanwhile no packet for the service range
 * may leave a machine.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { images } from './cluster-fixture.ts';
import { createMachines, type Machine, type Machines } from './fixtures/machines.ts';
import { until } from './fixtures/until.ts';
import type { Probe, Probed } from './fixtures/prober.ts';
import { endProcess, must, type Running } from './fixtures/programs.ts';
import { ENDING, endingRows, HEALTH_PORT, stages, type Stage, type Who } from './service-matrix/ending.ts';
import {
  HOST_PORT,
  HTTP_PORT,
  MODES,
  ONE_OF,
  rows,
  SCTP_PORT,
  sctpRows,
  UDP_PORT,
  type From,
  type Mode,
  type Row,
  type Where,
} from './service-matrix/rows.ts';

const PROBER = join(import.meta.dirname, 'fixtures/prober.ts');
const SCTP_SCRIPT = join(import.meta.dirname, 'fixtures/sctp.py');
const DNS = '10.43.0.10';
/** Why SCTP cannot be tested here; false where it can. */
const noSctp =
  spawnSync('/usr/bin/python3', [SCTP_SCRIPT, 'check']).status === 0 ? false : 'this kernel (or Python) has no SCTP';
const ending = endingRows(stages[0] as Stage);
const allRows = [...rows, ...(noSctp === false ? sctpRows : []), ...ending];

interface ServiceList {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly spec: { readonly clusterIP?: string };
  }[];
}

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
    await dropForwarded();
    await server.keelson('server --node-name server --detach');
    const token = (await server.keelson('token create')).trim();
    // The kernel limits the rate of ICMP refusals; this test needs more.
    for (const machine of [server, agent])
      await machine.must('sh', ['-c', 'echo 0 > /proc/sys/net/ipv4/icmp_ratelimit']);
    await agent.keelson(`agent --node-name agent --server https://${server.address}:6443 --token ${token} --detach`);
    await Promise.all([server, agent].map((machine) => machine.importImages()));
    await apply(objects());
    for (const machine of machines.list) {
      const prober = machine.start(process.execPath, [PROBER, machine.name, '18080', '18081']);
      probers.push(prober);
      await prober.until(/serving/);
    }
    await server.kubectl('wait --for=condition=Ready pod --all --timeout=120s');
    podAddress = await server.kubectl('get pod on-server -o jsonpath={.status.podIP}');
    const { items } = JSON.parse(await server.kubectl('get services -o json')) as ServiceList;
    for (const { metadata, spec } of items) clusterIps.set(metadata.name, spec.clusterIP ?? '');
    await countOnTheLink();
  });
  after(async () => {
    for (const prober of probers) prober.kill('SIGKILL');
    await machines?.remove();
  });

  /** A pod that runs the prober with the machine's own files. */
  function podOf(
    node: Who,
    { name, labels, graceSeconds, hostPort }: { name: string; labels: object; graceSeconds: number; hostPort?: number },
  ): object {
    const ports = [String(HTTP_PORT), String(UDP_PORT), ...(noSctp === false ? [String(SCTP_PORT)] : [])];
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, labels },
      spec: {
        nodeName: node,
        terminationGracePeriodSeconds: graceSeconds,
        containers: [
          {
            name: 'prober',
            image: images.test,
            command: ['busybox', 'chroot', '/host', process.execPath, PROBER, name, ...ports],
            readinessProbe: {
              httpGet: { path: '/ready', port: HTTP_PORT },
              periodSeconds: 1,
              timeoutSeconds: 30,
              failureThreshold: 1,
            },
            ports: [
              { name: 'web', containerPort: HTTP_PORT, ...(hostPort && { hostPort }) },
              { name: 'other', containerPort: UDP_PORT, protocol: 'UDP' },
            ],
            volumeMounts: [{ name: 'host', mountPath: '/host', readOnly: true }],
          },
        ],
        volumes: [{ name: 'host', hostPath: { path: '/' } }],
      },
    };
  }
  const apply = (items: readonly object[]): Promise<string> =>
    server.kubectl('apply -f -', { input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) });

  function objects(): object[] {
    const pods = (['server', 'agent'] as const).map((node) =>
      podOf(node, { name: `on-${node}`, labels: { app: 'matrix', on: node }, graceSeconds: 0, hostPort: HOST_PORT }),
    );
    const services = allRows.map(({ name, spec, selector = { app: 'matrix' } }) => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec: {
        ...spec,
        ...('externalName' in spec ? {} : { selector: name.startsWith('ending') ? ENDING : selector }),
      },
    }));
    return [...pods, ...services];
  }

  /** Gives the server the forward policy of a machine with Docker. */
  const dropForwarded = (): Promise<string> => server.must('iptables', '-P FORWARD DROP');

  /** Counts packets to the service range on the link outside the machines. */
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
  /** The cells of the table whose result differs. */
  const differingFrom = async (from: From, mode: Mode, table: readonly Row[]): Promise<string[]> => {
    const cells = table.flatMap(({ name, protocol = 'tcp', sourcePort, asks, modes }) =>
      asks.flatMap(([where, heard]) => {
        const wanted = heard[from];
        const id = `${name} at ${where.at}:${where.port} from ${from}`;
        const host = hostOf(where.at, name);
        const probe = { id, protocol, host, port: where.port, dns: DNS, ...(sourcePort && { sourcePort }) };
        return wanted === undefined ? [] : [{ wanted: modes?.[mode] ?? wanted, probe }];
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
  /** Probes everything until all results match the table; rules must be applied within moments. */
  const hold = async (
    mode: Mode,
    table: readonly Row[],
    { more = async () => [], timeoutMs = 180_000 }: { more?: () => Promise<string[]>; timeoutMs?: number } = {},
  ): Promise<void> => {
    let wrong: readonly string[] = [];
    const asked = (['server', 'agent', 'pod', 'outside'] as const).filter((from) =>
      table.some(({ asks }) => asks.some(([, heard]) => heard[from] !== undefined)),
    );
    await until(
      'all as the table says',
      async () => {
        wrong = [...(await Promise.all(asked.map((from) => differingFrom(from, mode, table)))), await more()].flat();
        return wrong.length === 0;
      },
      timeoutMs,
    ).catch((error: unknown) => {
      if (wrong.length === 0) throw error; // The probe itself failed.
    });
    assert.deepEqual(wrong, []);
  };
  const restart = async (machine: Machine, args: string): Promise<void> => {
    await endProcess(await machine.pid(), 'SIGTERM');
    await machine.keelson(args);
  };

  const machineOf = (who: Who): Machine => ({ server, agent })[who];
  const tell = async (who: Who, path: string): Promise<boolean> => {
    const address = await server.kubectl(`get pod ending-${who} -o jsonpath={.status.podIP}`);
    return (await machineOf(who).run('curl', ['-s', '-m', '20', `http://${address}:${HTTP_PORT}${path}`])).code === 0;
  };
  const happens: Readonly<Record<Stage['happens'][number][0], (who: Who) => Promise<void>>> = {
    async appears(who) {
      // Its grace period is longer than this test.
      await apply([podOf(who, { name: `ending-${who}`, labels: ENDING, graceSeconds: 600 })]);
      await server.kubectl(`wait --for=condition=Ready pod/ending-${who} --timeout=120s`);
    },
    async 'is deleted'(who) {
      await server.kubectl(`delete pod ending-${who} --wait=false`);
    },
    async 'fails its probe'(who) {
      await until('it has heard', () => tell(who, '/unready'));
    },
    async ends(who) {
      await tell(who, '/end');
      await server.kubectl(`wait --for=delete pod/ending-${who} --timeout=120s`);
    },
  };
  const healthAt = async (machine: Machine): Promise<string> =>
    outside.must('curl', [
      ...'-s -o /dev/null -m 20 -w %{http_code}'.split(' '),
      `http://${machine.address}:${HEALTH_PORT}/`,
    ]);

  for (const [index, mode] of MODES.entries()) {
    it(mode, async () => {
      if (index > 0) {
        await dropForwarded();
        await Promise.all([
          restart(server, `server --node-name server --proxy-mode ${mode} --detach`),
          restart(agent, `agent --node-name agent --proxy-mode ${mode} --detach`),
        ]);
      }
      await hold(mode, rows);
    });
    it(`${mode}: SCTP`, { skip: noSctp }, () => hold(mode, sctpRows));
    it(`${mode}: endpoints appear, terminate and vanish`, async (test) => {
      for (const stage of stages)
        await test.test(stage.name, async () => {
          for (const [what, who] of stage.happens) await happens[what](who);
          const more = async (): Promise<string[]> => {
            const health = await Promise.all([healthAt(server), healthAt(agent)]);
            return health.join() === stage.health.join() ? [] : [`health: ${health.join()}`];
          };
          await hold(mode, endingRows(stage), { more });
        });
    });
    // proxy-modes.test.ts tests the repair of the iptables mode.
    if (index === 0)
      it(`${mode}: deleted rules are restored within a minute`, async () => {
        await server.must('nft', 'flush ruleset');
        await hold(mode, rows, { timeoutMs: 240_000 });
      });
  }

  it('a load balancer has node ports by default', async () => {
    const nodePort = (name: string): Promise<string> =>
      server.kubectl(['get', 'service', name, '-o', 'jsonpath={.spec.ports[0].nodePort}']);
    assert.deepEqual([await nodePort('balanced-without-node-port'), (await nodePort('balanced')).length], ['', 5]);
    // With another class, the controller of that class sets the addresses.
    const ingress = 'jsonpath={.status.loadBalancer.ingress}';
    assert.equal(await server.kubectl(['get', 'service', 'balanced-by-another', '-o', ingress]), '');
  });

  it('no packet for the service range has left a machine', async () => {
    assert.deepEqual([await strays(0), await strays(1)], [0, 0]);
    // Proves that the counter counts: a machine without rules sends such packets to its default route.
    await outside.run('curl', ['-s', '-m', '1', 'http://10.43.0.1/']);
    assert.ok((await strays(2)) > 0);
  });
});
