/** `keelson up` in the foreground: checks the machine, then runs a real cluster on it. Stopping leaves pods running. */
import type { ClusterOptions } from '../cluster/cluster-options.ts';
import { isFirstStart } from '../cluster/instance/instance-file.ts';
import { deriveInstance } from '../cluster/instance/instance.ts';
import { prepareServer } from '../cluster/prepare-server.ts';
import type { InstanceStart } from './instance-start.ts';
import type { InstanceRun } from './instance-run.ts';
import { runInstance } from './run-instance.ts';

/** Runs until stopped; resolves to the exit code. */
export async function runForeground(options: ClusterOptions, start: InstanceStart): Promise<number> {
  return runInstance(instanceRun(options, start));
}

function instanceRun(options: ClusterOptions, start: InstanceStart): InstanceRun {
  return {
    dataDir: options.dataDir,
    start,
    withStore: (store, settings) =>
      instanceRun({ ...options, store }, { ...start, settings: { ...start.settings, ...settings } }),
    async create(platform, progress, signal) {
      const loading = import('../cluster/cluster.ts'); // while programs and files are examined
      loading.catch(() => undefined); // awaited below
      const first = await isFirstStart(platform.files, options.dataDir);
      const preparing = progress.phase('machine checked', () => prepareServer(platform, options, signal));
      // A first start waits for programs that examine the machine, so the API server's code is loaded at the same
      // time.
      if (first) import('../cluster/control-plane/control-plane.ts').catch(() => undefined); // Imported again where it is needed.
      const prepared = await preparing;
      const instance = deriveInstance(prepared.instanceOptions, (text) => platform.crypto.sha256Hex(text));
      const { createCluster } = await loading;
      return createCluster(platform, {
        instance,
        options,
        cniBinDirs: prepared.cniBinDirs,
        kubeletPort: prepared.kubeletPort,
        apiPort: prepared.apiPort,
        ownEtcd: prepared.ownEtcd,
        progress,
      });
    },
  };
}
