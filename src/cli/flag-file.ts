import { errorMessage } from '../base/errors.ts';
import type { Files } from '../platform/files.ts';
import { UserError } from './usage-error.ts';

/** The text of the file a flag names. Throws `UserError` with exit code 2 when it cannot be read. */
export function readFlagFile(files: Pick<Files, 'readText'>, flag: string, path: string): Promise<string> {
  return files.readText(path).catch((error: unknown) => {
    throw new UserError(`${flag}: ${errorMessage(error)}`, 2, { cause: error });
  });
}
