/** `keelson down`: stops everything of one cluster and leaves the machine as it was before `up`. */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Command } from 'commander';
import type { ClusterStatus } from '../cluster/cluster-status.ts';
import { isInstanceThere, NoAnswerError, requestControl } from '../cluster/instance/control-client.ts';
import { checkOwnDataDir } from '../cluster/instance/own-data-dir.ts';
import { lockDataDir } from '../cluster/instance/control-socket.ts';
import { endInstance } from '../cluster/instance/end-instance.ts';
import { supervisorOf } from '../cluster/instance/supervisor-record.ts';
import { rootRunDir } from '../cluster/instance/control-place.ts';
import { readSettings } from './arguments/settings-file.ts';
import { userKubeconfig } from './kubeconfig/user-file.ts';
import { forgetCluster } from './machine-clusters.ts';
import { dataDirOption } from './cluster-options.ts';
import { UserError } from './usage-error.ts';

const STATUS_TIMEOUT_MS = 15_000;
/** Longer than a stop with the removal of some pods takes. */
const LONG_MS = 15_000;

export function downCommand(): Command {
  return new Command('down')
    .description('stop a cluster with its pods and remove what it put on this machine')
    .addOption(dataDirOption())
    .option('--delete-data', 'delete the data directory too')
    .action(async (raw: { dataDir: string; deleteData?: boolean }) => {
      const { createNodePlatform } = await import('../platform/node/node-platform.ts');
      const dataDir = resolve(raw.dataDir);
      if (!(await isAnything(dataDir))) {
        process.stderr.write(
          `keelson: no cluster is in ${dataDir}: nothing to take down (keelson ls lists those there are)\n`,
        );
        return;
      }
      const deleteData = raw.deleteData === true;
      if (await isSimulated(dataDir)) {
        const platform = createNodePlatform({ startSpawner: false, log: { level: 'warn' } });
        await withdrawContext(dataDir);
        await endInstance(platform, dataDir);
        platform.close();
        await removeRunDir(dataDir);
        if (!deleteData) return;
        await rm(dataDir, { recursive: true });
        forgetCluster(dataDir);
        return;
      }
      if (process.getuid?.() !== 0) throw new UserError('keelson down needs root, as keelson up did');
      checkOwnDataDir(dataDir);
      await withdrawContext(dataDir);
      const { takeDown } = await import('../cluster/take-down.ts');
      const platform = createNodePlatform({ log: { level: 'warn' } });
      const patience = setTimeout(() => {
        process.stderr.write(
          `keelson: this takes long; if a part of the cluster does not stop, ${dataDir}/logs/keelson.log names it\n`,
        );
      }, LONG_MS);
      try {
        const problems = await takeDown(platform, { dataDir, deleteData });
        if (problems.length > 0) throw new UserError(problems.join('; '));
        if (deleteData) forgetCluster(dataDir);
      } finally {
        clearTimeout(patience);
        platform.close();
      }
    });
}

/** An instance that was killed has left its run directory. Another that has started since keeps it. */
async function removeRunDir(dataDir: string): Promise<void> {
  if (process.getuid?.() !== 0 || !existsSync(dataDir) || !existsSync(rootRunDir(dataDir))) return;
  const lock = lockDataDir(dataDir);
  if (lock === undefined) return;
  try {
    await rm(rootRunDir(dataDir), { recursive: true, force: true });
  } finally {
    lock.release();
  }
}

/** Whether there is a data directory, or a process or run directory of a deleted one. */
async function isAnything(dataDir: string): Promise<boolean> {
  return existsSync(dataDir) || existsSync(rootRunDir(dataDir)) || (await isInstanceThere(dataDir));
}

/** Removes the cluster's context from the user's kubeconfig. Prints a failure and continues. */
async function withdrawContext(dataDir: string): Promise<void> {
  const files = new Set([readSettings(dataDir)['kubeconfig-file'], userKubeconfig()]);
  for (const file of files) {
    if (file === undefined || !existsSync(file)) continue;
    const { withdrawKubeconfig } = await import('./kubeconfig/publish.ts');
    const problem = await withdrawKubeconfig(dataDir, file);
    if (problem !== undefined) process.stderr.write(`keelson: ${problem}\n`);
  }
}

/**
 * Whether the cluster is simulated and leaves nothing on the machine. Users other than root can only have such
 * clusters.
 */
async function isSimulated(dataDir: string): Promise<boolean> {
  const settings = readSettings(dataDir);
  // Recorded at the start, since an instance whose store hangs does not answer.
  const status = settings.version === undefined ? await statusOf(dataDir) : settings;
  return status?.simulated === true || (process.getuid?.() !== 0 && supervisorOf(dataDir) !== undefined);
}

/** The status of the instance; if it hangs, the one recorded at its start. */
async function statusOf(dataDir: string): Promise<Partial<ClusterStatus> | undefined> {
  try {
    return (await requestControl(dataDir, 'status', STATUS_TIMEOUT_MS)) as Partial<ClusterStatus> | undefined;
  } catch (error) {
    if (error instanceof NoAnswerError) return { simulated: readSettings(dataDir).simulated };
    throw error;
  }
}
