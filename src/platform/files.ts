/**
 * The file-system port: what Keelson needs of `fs`, no more. Paths are absolute. Errors are Node's (`code` is `ENOENT`,
 * `EEXIST` …) on every adapter. Whatever a pod's volume can hang (NFS, FUSE) must not be called through this port
 * in-process: see `Exec`.
 */

/** Facts of a file, as `lstat`/`stat` give them. */
export interface FileStat {
  readonly kind: 'file' | 'directory' | 'symlink' | 'socket' | 'fifo' | 'block' | 'char';
  readonly sizeBytes: number;
  /** Permission bits, e.g. 0o644. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly mtimeMs: number;
  readonly dev: number;
  readonly ino: number;
}

/** Space and inodes of the file system that holds a path. */
export interface FileSystemStat {
  readonly totalBytes: number;
  readonly availableBytes: number;
  readonly totalInodes: number;
  readonly availableInodes: number;
}

/** An open file for appending and reading pieces; close it. */
export interface FileHandle {
  /** Reads up to `length` bytes from `offset`; an empty array at the end. */
  read(offset: number, length: number): Promise<Uint8Array>;
  append(data: string | Uint8Array): Promise<void>;
  stat(): Promise<FileStat>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** What a path led to when it was opened, whatever is renamed or linked meanwhile; close it. */
export interface PathHandle {
  /** Leads to it in calls of this port: as a whole, or followed by `/` and a name in it. */
  readonly path: string;
  stat(): Promise<FileStat>;
  close(): Promise<void>;
}

/** Watches a file or directory until stopped. */
export interface FileWatch {
  stop(): void;
}

/** Asynchronous file access. */
export interface Files {
  readFile(path: string): Promise<Uint8Array>;
  readText(path: string): Promise<string>;
  /** Writes in place: creates or truncates. */
  writeFile(path: string, data: string | Uint8Array, options?: { mode?: number }): Promise<void>;
  /** Writes beside and renames over, so that a reader or a crash sees the old content or the new, and syncs first. */
  writeFileAtomic(path: string, data: string | Uint8Array, options?: { mode?: number }): Promise<void>;
  /**
   * For reading, only a regular file opens, and no open waits for a peer as a FIFO's does: others may have made the path.
   * Rejects with EINVAL for another kind, and with ELOOP for a link unless `followLinks` is set. `mode` is that of a file made here.
   */
  open(
    path: string,
    flags: 'r' | 'a',
    options?: { readonly followLinks?: boolean; readonly mode?: number },
  ): Promise<FileHandle>;
  /** Opens what is there without reading it, of any kind; a link itself. Only the last name may be somebody else's. */
  openPath(path: string): Promise<PathHandle>;
  stat(path: string): Promise<FileStat>;
  lstat(path: string): Promise<FileStat>;
  /** Whether the path exists (links followed). */
  exists(path: string): Promise<boolean>;
  /** Names in a directory, sorted. */
  readDir(path: string): Promise<string[]>;
  /** Creates a directory and its parents; no error when it is there. */
  makeDir(path: string, options?: { mode?: number }): Promise<void>;
  /**
   * Removes a file or, recursively, a directory; no error when it is not there. `mayChange`: programs that are not trusted may
   * swap parts of it meanwhile; nothing outside of it is removed, nor another file system below it.
   */
  remove(path: string, options?: { readonly mayChange?: boolean }): Promise<void>;
  /** Removes an empty directory; fails with ENOTEMPTY otherwise. */
  removeDir(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  symlink(target: string, path: string): Promise<void>;
  readLink(path: string): Promise<string>;
  chmod(path: string, mode: number): Promise<void>;
  /** -1 keeps the owner or the group. Follows links. */
  chown(path: string, uid: number, gid: number): Promise<void>;
  statFileSystem(path: string): Promise<FileSystemStat>;
  /** Calls back after something changed at `path`; may call too often, never too seldom; `onError` once if it breaks. */
  watch(path: string, onChange: () => void, onError: (error: Error) => void): FileWatch;
}
