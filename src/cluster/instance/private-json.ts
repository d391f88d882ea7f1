/** Files of the data directory that only the instance's user may read. */
import type { Files } from '../../platform/files.ts';

/** Writes the file, whole or not at all. */
export function writePrivateJson(files: Pick<Files, 'writeFileAtomic'>, path: string, value: object): Promise<void> {
  return files.writeFileAtomic(path, `${JSON.stringify(value, undefined, 2)}\n`, { mode: 0o600 });
}
