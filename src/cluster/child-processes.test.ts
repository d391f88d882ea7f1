/** Loops that run programs: a round in which handling the program throws is counted, and a later round works. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startOomWatcher } from '../kubelet/oom/oom-watcher.ts';
import type { Exec } from '../platform/exec.ts';
import { createSimPlatform, type SimPlatform } from '../platform/sim/sim-platform.ts';
import { createApplyLoop } from '../proxy/apply-loop.ts';
import type { ProxyMetrics } from '../proxy/proxy-metrics.ts';
import { createEtcdProcess } from './etcd/etcd-process.ts';
import type { Instance } from './instance/instance.ts';
import { createDnsDaemon } from './node/dns-daemon.ts';

interface Machine {
  readonly platform: SimPlatform;
  /** Programs that were handled without a fault. */
  readonly good: () => number;
}

/** A machine on which handling the program number `at` (from 0) throws, at once or when its output is read. */
function machine(at: number): Machine {
  const platform = createSimPlatform();
  let started = 0;
  let good = 0;
  const broken = (): never => {
    throw new TypeError('broken');
  };
  const exec: Exec = {
    async run() {
      if (started++ === at)
        return new Proxy({} as never, { get: (_target, key) => (key === 'then' ? undefined : broken()) });
      good++;
      return { exitCode: 0, stdout: '', stderr: '', timedOut: false };
    },
    ownProgram: (name) => [name],
    async startDaemon() {
      if (started++ === at) return broken();
      good++;
      return 4242;
    },
    kill: () => false,
    killDaemon: () => false,
  };
  return { platform: { ...platform, exec: exec as SimPlatform['exec'] }, good: () => good };
}

const counted = ({ metrics }: SimPlatform): number =>
  ['', 'dns', 'etcd']
    .map((component) => metrics.value('keelson_unexpected_errors_total', { component }) ?? 0)
    .reduce((sum, count) => sum + count, 0);

interface Loop {
  /** The program whose handling throws: some loops fail with their first one. */
  readonly at: number;
  start(machine: Machine, signal: AbortSignal): Promise<unknown> | void;
}

const loops: Readonly<Record<string, Loop>> = {
  'the watcher of OOM kills': {
    at: 1,
    async start({ platform }, signal) {
      const recorder = { event: () => undefined } as never;
      await platform.files.makeDir('/proc');
      await platform.files.writeFile('/proc/vmstat', 'oom_kill 1\n');
      startOomWatcher({ platform, recorder, nodeRef: { kind: 'Node', name: 'n' } as never }, signal);
      let count = 1;
      platform.clock.setTicker(30_000, () => {
        platform.files.writeFile('/proc/vmstat', `oom_kill ${++count}\n`).catch(() => assert.fail());
      });
    },
  },
  'the loop that applies service rules': {
    at: 0,
    start({ platform }, signal) {
      const metrics = { failed: () => undefined } as unknown as ProxyMetrics;
      const apply = async (): Promise<void> => void (await platform.exec.run('nft', [])).exitCode.toFixed();
      return createApplyLoop(platform, { metrics, minGapMs: 0, apply, onApplied: () => undefined }).run(signal);
    },
  },
  'the supervision of etcd': {
    at: 1,
    async start({ platform }, signal) {
      await platform.files.makeDir('/proc');
      await createEtcdProcess(platform, { dir: '/etcd', logFile: '/etcd.log', args: [] }).start(signal);
    },
  },
  'the supervision of the DNS process': {
    at: 0,
    async start({ platform }, signal) {
      const instance = { runDir: '/run', dataDir: '/data', logDir: '/logs', serviceCidr: '10.43.0.0/16' };
      await platform.files.makeDir('/run');
      return createDnsDaemon(platform, { ...instance, clusterDomain: 'c' } as Instance, undefined).start(signal);
    },
  },
};

for (const [what, { at, start }] of Object.entries(loops))
  test(`${what} continues after handling a program threw, which is counted`, async () => {
    const host = machine(at);
    const { platform } = host;
    const ending = new AbortController();
    const running = start(host, ending.signal);
    await platform.clock.advance(200_000);
    assert.equal(counted(platform), 1);
    assert.ok(host.good() > at, `${host.good()} programs after the broken one`);
    ending.abort(new Error('the test is over'));
    await platform.clock.advance(1000);
    await running;
  });
