/**
 * Three servers with etcd and two agents, each in a network namespace, under load. A seed decides which servers, etcd members and
 * agents are killed and which links are cut, one after another. KEELSON_FAULTS (5) and KEELSON_SEED (1).
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSeededRandom } from '../../src/platform/sim/random.ts';
import { kubectlProgram } from '../../tools/kubectl.ts';
import { withoutEtcd } from '../../src/storage/etcd/etcd-fixture.ts';
import { images } from './cluster-fixture.ts';
import type { FaultLoadAccount, FaultLoadConfig, FaultLoadLook } from './fixtures/fault-load.ts';
import { createMachines, type Machine, type Machines } from './fixtures/machines.ts';
import { until } from './fixtures/until.ts';
import { endProcess, must, start, type Running } from './fixtures/programs.ts';

const faultCount = Number(process.env['KEELSON_FAULTS'] ?? 5);
const seed = process.env['KEELSON_SEED'] ?? '1';
/** The recovery time that docs/many-machines.md promises; time in which a process waited for a CPU or the disk is not counted. */
const PROMISED_MS = 30_000;
/** The limit on the wall clock, waits included. */
const CONVERGED_WITHIN_MS = 120_000;
const NODE_PORT = 30_080;

interface Fault {
  readonly name: string;
  /** Indices of the machines whose node port may fail during the fault. */
  readonly dead: readonly number[];
  inflict(): Promise<void>;
}

/** The pids of a machine's processes, found by an argument and the data directory. */
function pidsOf({ dataDir }: Machine, matches: (command: readonly string[]) => boolean): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
      return command.some((text) => text.startsWith(dataDir)) && matches(command) ? [Number(name)] : [];
    } catch {
      return []; // The process ended after the listing.
    }
  });
}

/**
 * Milliseconds so far in which some process of this host waited for a CPU or the disk; undefined where the kernel has no pressure
 * files.
 */
function stalledMs(): number | undefined {
  if (!existsSync('/proc/pressure/cpu')) return undefined;
  const totals = ['cpu', 'io'].map((kind) =>
    /^some .*total=(\d+)/m.exec(readFileSync(`/proc/pressure/${kind}`, 'utf8')),
  );
  // A process may wait for both at once, so only the larger total counts.
  return Math.max(...totals.map((total) => Number(total?.[1] ?? 0) / 1000));
}

describe('three servers, two agents, one fault after another', { skip: withoutEtcd }, () => {
  let machines: Machines;
  let servers: readonly Machine[];
  let agents: readonly Machine[];
  let load: Running;
  const serverArgs = (index: number): string => `server --disable-agent --node-name s${index} --detach`;
  const agentArgs = (index: number): string => `agent --node-name a${index} --detach`;

  before(async () => {
    machines = await createMachines([0, 0, 0, 0, 0]);
    [servers, agents] = [machines.list.slice(0, 3), machines.list.slice(3)];
    await servers[0]!.keelson(`${serverArgs(0)} --cluster-init`);
    const token = (await servers[0]!.keelson('token create --server')).trim();
    const url = `https://${servers[0]!.address}:6443`;
    await Promise.all([1, 2].map((i) => servers[i]!.keelson(`${serverArgs(i)} --join ${url} --token ${token}`)));
    const urls = servers.map(({ address }) => `https://${address}:6443`);
    const agentToken = (await servers[0]!.keelson('token create')).trim();
    await Promise.all(
      agents.map((agent, i) => agent.keelson(`${agentArgs(i)} --server ${urls.join()} --token ${agentToken}`)),
    );
    await Promise.all(agents.map((agent) => agent.importImages()));
    for (const i of [0, 1]) {
      const overrides = JSON.stringify({ spec: { nodeName: `a${i}`, terminationGracePeriodSeconds: 1 } });
      await servers[0]!.kubectl([
        ...['run', `web-${i}`, `--image=${images.test}`, `--overrides=${overrides}`, '--labels=app=web'],
      ]);
    }
    await servers[0]!.kubectl(`create service nodeport web --tcp=80:8080 --node-port=${NODE_PORT}`);
    // Each node port is answered by a pod on its own node, so a failed request identifies the node.
    await servers[0]!.kubectl(['patch', 'service', 'web', '-p', '{"spec":{"externalTrafficPolicy":"Local"}}']);
    await servers[0]!.kubectl('wait --for=condition=Ready pod --all --timeout=120s');
    const read = (name: string): string => readFileSync(join(servers[0]!.dataDir, 'pki', name), 'utf8');
    const config: FaultLoadConfig = {
      servers: urls,
      tls: { caPem: read('ca.crt'), certPem: read('admin.crt'), keyPem: read('admin.key') },
      targets: agents.map(({ address }) => `http://${address}:${NODE_PORT}/cgi-bin/hostname`),
    };
    const program = join(import.meta.dirname, 'fixtures/fault-load.ts');
    const inside = ['netns', 'exec', machines.switchNamespace, process.execPath, program];
    load = start('ip', [...inside, JSON.stringify(config)]);
  });
  after(async () => {
    load?.kill('SIGKILL');
    await machines?.remove();
  });

  const look = async (): Promise<FaultLoadLook> => {
    const lines = load.stdout().split('\n').length;
    load.write('look\n');
    await until('the load’s answer', async () => load.stdout().split('\n').length > lines);
    return JSON.parse(load.stdout().trim().split('\n').at(-1) ?? '') as FaultLoadLook;
  };

  /** Milliseconds from a moment until writes by every server, every node port and every node work again. */
  const converged = async (sinceMs: number): Promise<number> => {
    await until(
      'convergence',
      async () => {
        const { writtenMs, answeredMs, ready, readyMs } = await look();
        const times = [...writtenMs, ...answeredMs, readyMs];
        return times.every((ms) => ms > sinceMs) && ready.length === 2;
      },
      CONVERGED_WITHIN_MS,
    );
    return Date.now() - sinceMs;
  };

  const cut = async (index: number, forMs: number): Promise<void> => {
    const link = (state: string) => must('ip', ['-n', machines.switchNamespace, 'link', 'set', `m${index}`, state]);
    await link('down');
    await sleep(forMs);
    await link('up');
  };
  const kill = async (machine: Machine, matches: (command: readonly string[]) => boolean): Promise<void> => {
    const pids = pidsOf(machine, matches);
    assert.notEqual(pids.length, 0, `nothing to kill on ${machine.name}`);
    await Promise.all(pids.map((pid) => endProcess(pid)));
  };
  const keelsonAs = (role: string) => (command: readonly string[]) => command[2] === role;

  const faults = (random: ReturnType<typeof createSeededRandom>): Fault[] => {
    const kinds: ((i: number) => Fault)[] = [
      (i) => ({
        name: `kill -9 server ${i}`,
        dead: [],
        async inflict() {
          await kill(servers[i]!, keelsonAs('server'));
          await servers[i]!.keelson(serverArgs(i));
        },
      }),
      (i) => ({
        name: `kill -9 etcd of server ${i}`,
        dead: [],
        inflict: () => kill(servers[i]!, ([program]) => program === 'etcd'),
      }),
      (i) => ({
        name: `kill -9 agent ${i % 2}`,
        dead: [],
        async inflict() {
          await kill(agents[i % 2]!, keelsonAs('agent'));
          await agents[i % 2]!.keelson(agentArgs(i % 2));
        },
      }),
      (i) => ({ name: `cut the link of server ${i}`, dead: [], inflict: () => cut(i, 3_000) }),
      (i) => ({ name: `cut the link of agent ${i % 2}`, dead: [i % 2], inflict: () => cut(3 + (i % 2), 3_000) }),
    ];
    // Each kind of fault once before any repeats; the seed decides the order.
    return Array.from({ length: Math.ceil(faultCount / kinds.length) })
      .flatMap(() => {
        const bag = [...kinds];
        return kinds.map(() => bag.splice(random.int(bag.length), 1)[0]!(random.int(3)));
      })
      .slice(0, faultCount);
  };

  it(`survives ${faultCount} faults of seed ${seed}`, { timeout: 200_000 + faultCount * 120_000 }, async (t) => {
    await converged(Date.now());
    /** How long a request may be in flight when its link is cut. */
    const underWayMs = 1_000;
    const excused: { readonly target: number; readonly fromMs: number; readonly toMs: number }[] = [];
    const times: number[] = [];
    const late: string[] = [];
    for (const fault of faults(createSeededRandom(seed))) {
      const fromMs = Date.now() - underWayMs;
      await fault.inflict();
      const [inflictedMs, stalledBeforeMs] = [Date.now(), stalledMs()];
      const tookMs = await converged(inflictedMs);
      // Without pressure files the time lost to other processes is unknown, so the promise is not checked.
      const lostMs = stalledBeforeMs === undefined ? tookMs : (stalledMs() ?? 0) - stalledBeforeMs;
      if (tookMs - lostMs > PROMISED_MS) late.push(`${fault.name}: ${tookMs} ms, ${Math.round(lostMs)} of them lost`);
      excused.push(...fault.dead.map((target) => ({ target, fromMs, toMs: inflictedMs + tookMs })));
      times.push(tookMs);
      t.diagnostic(`${fault.name}: ${inflictedMs - fromMs - underWayMs} ms, everything works ${tookMs} ms after it`);
    }
    load.write('end\n');
    const { code, stdout, stderr } = await load.ended();
    assert.equal(code, 0, stderr);
    const account = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as FaultLoadAccount;
    const isExcused = (target: number, ms: number): boolean =>
      excused.some((each) => each.target === target && ms >= each.fromMs && ms <= each.toMs);
    const failed = account.unanswered.map((moments, target) => moments.filter((ms) => !isExcused(target, ms)).length);
    const requests = account.answered.reduce((sum, count) => sum + count, 0);
    t.diagnostic(
      `${account.acknowledged} writes acknowledged, ${account.lost.length} lost; refused or unknown by server: ${account.failedWrites.join(', ')}`,
    );
    t.diagnostic(`${requests} requests to node ports answered, ${failed.join(' and ')} not, dead links excepted`);
    t.diagnostic(`everything worked again after ${Math.max(...times)} ms at most`);
    assert.deepEqual(late, []);
    assert.deepEqual(account.lost, []);
    assert.ok(account.acknowledged > 20 * faultCount, `${account.acknowledged} writes are no load`);
    assert.deepEqual(failed, [0, 0]);
  });

  it('a kubeconfig reaches other servers: by the port of an agent, and by a name with the addresses of all servers', async () => {
    const [gone, agent] = [servers[0]!, agents[0]!];
    const hosts = join(agent.dataDir, 'hosts');
    writeFileSync(hosts, servers.map(({ address }) => `${address} api.example\n`).join(''));
    const get = ['--kubeconfig', join(gone.dataDir, 'admin.kubeconfig'), 'get', 'nodes', '-o', 'name'];
    const byPort = ['--server', 'https://127.0.0.1:6444'];
    const byName = ['--server', 'https://api.example:6443', '--tls-server-name', 'kubernetes'];
    const withHosts = ['--mount', 'sh', '-c', `mount --bind ${hosts} /etc/hosts && exec "$@"`, 'sh'];
    await kill(gone, keelsonAs('server'));
    for (const [program, args] of [
      [kubectlProgram(), [...byPort, ...get]],
      ['unshare', [...withHosts, kubectlProgram(), ...byName, ...get]],
    ] as const)
      assert.deepEqual((await agent.must(program, args)).trim().split('\n'), ['node/a0', 'node/a1']);
    await servers[0]!.keelson(serverArgs(0));
  });
});
