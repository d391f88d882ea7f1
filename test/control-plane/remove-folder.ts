/** Cleans up after instances that a test killed. */
import { rm } from 'node:fs/promises';
import { rootRunDir } from '../../src/cluster/instance/control-place.ts';

/** Removes the test's folder, and the run directories of instances that were killed on these data directories. */
export async function removeFolder(folder: string, ...dataDirs: readonly string[]): Promise<void> {
  for (const path of [...dataDirs.map(rootRunDir), folder])
    await rm(path, { recursive: true, force: true, maxRetries: 5 });
}
