/** Creates the folders of an instance. */
import type { Files } from '../../platform/files.ts';
import type { Log } from '../../platform/log.ts';
import type { Instance } from './instance.ts';

/** Idempotent. */
export async function makeInstanceDirectories(files: Files, instance: Instance, log: Log): Promise<void> {
  const { logDir, runDir, kubeletRoot, podLogsRoot, dataDir } = instance;
  await moveStaticPods(files, instance, log);
  for (const dir of [
    logDir,
    runDir,
    kubeletRoot,
    podLogsRoot,
    `${dataDir}/manifests`,
    `${dataDir}/pod-manifests`,
    `${dataDir}/images`,
  ])
    await files.makeDir(dir, { mode: 0o750 });
}

/**
 * Moves static pods out of `manifests`, where they were before `pod-manifests` existed. Applied to the API they would
 * become pods of any node; ignored they would end.
 */
async function moveStaticPods(files: Files, { kubeletRoot, dataDir }: Instance, log: Log): Promise<void> {
  const [from, to] = [`${dataDir}/manifests`, `${dataDir}/pod-manifests`];
  if (!(await files.exists(kubeletRoot)) || (await files.exists(to)) || !(await files.exists(from))) return;
  await files.rename(from, to);
  log.info('the folder of static pods has another name in this version', { from, to });
}
