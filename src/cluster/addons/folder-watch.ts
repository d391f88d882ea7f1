/**
 * Watches the folders of manifests. A folder that was replaced, or whose watch broke, is watched again at the next
 * pass.
 */
import { onAbort } from '../../base/abort.ts';
import type { FileWatch } from '../../platform/files.ts';
import type { Platform } from '../../platform/platform.ts';

export interface FolderWatch {
  /** Resolves at the next change. */
  changed(): Promise<void>;
  /** Watches exactly these. */
  follow(folders: readonly string[]): Promise<void>;
}

/** Ends with the signal. */
export function watchFolders({ files, log }: Pick<Platform, 'files' | 'log'>, signal: AbortSignal): FolderWatch {
  const watches = new Map<string, { readonly inode: string; readonly watch: FileWatch }>();
  let next = Promise.withResolvers<void>();
  const end = (folder: string): void => {
    watches.get(folder)?.watch.stop();
    watches.delete(folder);
  };
  const start = (folder: string, inode: string): void => {
    const own = { inode, watch: files.watch(folder, () => next.resolve(), broken) };
    watches.set(folder, own);
    function broken(error: Error): void {
      log.warn('A folder of manifests is not watched for now', { folder, err: error });
      if (watches.get(folder) === own) watches.delete(folder);
    }
  };
  onAbort(signal, () => {
    for (const folder of [...watches.keys()]) end(folder);
  });
  return {
    changed() {
      next = Promise.withResolvers<void>();
      return next.promise;
    },
    async follow(folders) {
      for (const folder of watches.keys()) if (!folders.includes(folder)) end(folder);
      for (const folder of folders) {
        const { dev, ino } = await files.stat(folder);
        const inode = `${dev}:${ino}`;
        if (signal.aborted || watches.get(folder)?.inode === inode) continue;
        end(folder);
        start(folder, inode);
      }
    },
  };
}
