/** Files of a container, read with programs of its image: `ls`, `cat`, `tar`, as `kubectl cp` does. */
import { type CommandResult, isMissingProgram, runCommand } from '../../api/exec.ts';
import type { ObjectRef } from '../../api/kinds.ts';
import { texts } from '../../app/texts.ts';
import { entriesOf, type FileEntry } from './listing.ts';

/** A container whose files are read. */
export interface FilePlace {
  readonly pod: ObjectRef;
  readonly container: string;
}

/** The limit in bytes of a folder's listing. */
const MOST_NAMES = 4 * 1024 * 1024;
/** The limit in bytes of a download, which the browser holds in memory. */
export const MOST_BYTES = 500 * 1024 * 1024;

/** An error that is shown to the user. */
export class FilesError extends Error {
  override readonly name = 'FilesError';
}

/** The entries of a folder. Rejects with `FilesError`. */
export async function listFolder(place: FilePlace, folder: string, signal: AbortSignal): Promise<readonly FileEntry[]> {
  const path = folder.endsWith('/') ? folder : `${folder}/`;
  const run = (flags: string): Promise<CommandResult> =>
    runCommand({ ...place, command: ['ls', flags, '--', path] }, { limit: MOST_NAMES, signal });
  let result = await run('-lAnq');
  // Old versions of busybox do not support -q.
  if (/(invalid|unrecognized|illegal) option/.test(result.errors)) result = await run('-lAn');
  const entries = entriesOf(await new Blob([...result.output]).text());
  if (entries.length === 0) requireSuccess(result, 'ls');
  return entries;
}

/** The bytes of a file, or a tar archive of a folder. Rejects with `FilesError`. */
export async function readFile(
  place: FilePlace,
  { folder, entry: { name, type } }: { readonly folder: string; readonly entry: FileEntry },
  { signal, progress }: { readonly signal: AbortSignal; progress(bytes: number): void },
): Promise<Blob> {
  const command =
    type === 'folder'
      ? ['tar', 'cf', '-', '-C', folder, `./${name}`]
      : ['cat', '--', `${folder === '/' ? '' : folder}/${name}`];
  const result = await runCommand({ ...place, command }, { limit: MOST_BYTES, signal, progress });
  if (result.tooLong) throw new FilesError(texts.files.tooLong(MOST_BYTES / 1024 / 1024));
  requireSuccess(result, command[0]!);
  return new Blob([...result.output]);
}

function requireSuccess({ end, errors }: CommandResult, program: string): void {
  if (end.kind === 'success') return;
  if (isMissingProgram(end)) throw new FilesError(texts.files.missing(program));
  if (end.kind === 'exit') throw new FilesError(errors || texts.terminal.states.exit(end.code));
  throw new FilesError(end.kind === 'failed' ? end.message : texts.terminal.states.lost(end.reason));
}
