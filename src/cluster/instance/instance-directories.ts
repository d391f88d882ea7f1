/** Makes the folders of an instance that its parts expect. */
import type { Files } from '../../platform/files.ts';
import type { Instance } from './instance.ts';

/** Idempotent. */
export async function makeInstanceDirectories(files: Files, instance: Instance): Promise<void> {
  const { logDir, runDir, kubeletRoot, podLogsRoot, dataDir } = instance;
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
