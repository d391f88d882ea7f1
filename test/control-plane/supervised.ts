/** A simulated cluster with its supervisor, for tests that crash and kill it. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { rootRunDir } from '../../src/cluster/instance/control-place.ts';
import type { ClusterStatus } from '../../src/cluster/cluster-status.ts';
import { keelsonProgram, run, type Outcome } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';

export interface SupervisedCluster {
  readonly dataDir: string;
  readonly url: string;
  /** `keelson` with its data directory. */
  keelson(...args: string[]): Promise<Outcome>;
  up(): Promise<Outcome>;
  /** Undefined while it does not run. */
  status(): Promise<ClusterStatus | undefined>;
  /** The status once another process than that one serves. */
  statusAfter(pid: number): Promise<ClusterStatus>;
  remove(): Promise<void>;
}

/** Prepares one in a folder; nothing runs before `up`. */
export async function supervisedCluster(env: NodeJS.ProcessEnv = {}, folder = tmpdir()): Promise<SupervisedCluster> {
  const dataDir = mkdtempSync(join(folder, 'keelson-supervised-'));
  const port = await freePort();
  const all = { ...process.env, KEELSON_RESTART: 'always', ...env };
  const keelson = (...args: string[]): Promise<Outcome> =>
    run(process.execPath, [keelsonProgram, ...args, '--data-dir', dataDir], { env: all });
  const status = async (): Promise<ClusterStatus | undefined> => {
    const { code, stdout } = await keelson('status', '--output', 'json');
    return code === 0 ? (JSON.parse(stdout) as ClusterStatus) : undefined;
  };
  return {
    dataDir,
    url: `https://127.0.0.1:${port}`,
    keelson,
    up: () => keelson('up', '--simulate', '--detach', `--https-port=${port}`, '--log-level=warn'),
    status,
    statusAfter: (pid) =>
      until('another process serves', async () => {
        const now = await status();
        return now !== undefined && now.phase === 'running' && now.pid !== pid ? now : undefined;
      }),
    async remove() {
      const { code, stderr } = await keelson('down', '--delete-data');
      assert.deepEqual([code, stderr], [0, '']);
      assert.equal(existsSync(rootRunDir(dataDir)), false, 'nothing is left of the instance');
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** The parent of a process. */
export function parentOf(pid: number): number {
  return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
