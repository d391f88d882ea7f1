/**
 * The files that this data directory has applied, by the names of their Addons, kept in a hidden file beside them.
 * Only these are removed when their file is gone: a restored store, or a machine of the same name, has Addons whose
 * files were never here.
 */
import { errorMessage, hasErrorCode } from '../../base/errors.ts';
import type { Platform } from '../../platform/platform.ts';

/** The paths of files by the names of their Addons. */
export type AppliedFiles = Readonly<Record<string, string>>;

function recordOf(folder: string): string {
  return `${folder}/.applied.json`;
}

/** Empty before the first file, or when the record cannot be read, which is logged. */
export async function readApplied(
  { files, log }: Pick<Platform, 'files' | 'log'>,
  folder: string,
): Promise<AppliedFiles> {
  const file = recordOf(folder);
  try {
    const value = JSON.parse(await files.readText(file)) as unknown;
    if (typeof value !== 'object' || value === null) throw new Error('it is not an object');
    return value as AppliedFiles;
  } catch (error) {
    if (!hasErrorCode(error, 'ENOENT'))
      log.warn('The record of applied manifests cannot be read: nothing is removed', {
        file,
        reason: errorMessage(error),
      });
    return {};
  }
}

export async function writeApplied(files: Platform['files'], folder: string, applied: AppliedFiles): Promise<void> {
  await files.writeFileAtomic(recordOf(folder), `${JSON.stringify(applied)}\n`);
}
