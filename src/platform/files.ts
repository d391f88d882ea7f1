/**
 * The file-system port: only what Keelson needs of `fs`. Paths are absolute. Errors are Node's (`code` is `ENOENT`,
 * `EEXIST` …) on every adapter. Calls that a pod's volume can block (NFS, FUSE) must not be made through this port
 * in-process: see `Exec`.
 */

/** The result of `lstat` and `stat`. */
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

/** An open file for appending and for reading chunks; close it. */
export interface FileHandle {
  /** Reads up to `length` bytes from `offset`; an empty array at the end. */
  read(offset: number, length: number): Promise<Uint8Array>;
  append(data: string | Uint8Array): Promise<void>;
  stat(): Promise<FileStat>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** An open file that is independent of renames and links at its path; close it. */
export interface PathHandle {
  /** A path to the open file for calls of this port; may be followed by `/` and a name in it. */
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
  /** Writes a new file, syncs it and renames it, so that readers and crashes see either the old content or the new. */
  writeFileAtomic(path: string, data: string | Uint8Array, options?: { mode?: number }): Promise<void>;
  /**
   * Opens a file that others may have created. When reading, only regular files open, and opening never blocks as a
   * FIFO would. Rejects with EINVAL for another kind, and with ELOOP for a link unless `followLinks` is set. `mode`
   * is used for a created file.
   */
  open(
    path: string,
    flags: 'r' | 'a',
    options?: { readonly followLinks?: boolean; readonly mode?: number },
  ): Promise<FileHandle>;
  /**
   * Opens a file of any kind, or a link itself, without reading it. Only the last name may be under another user's
   * control.
   */
  openPath(path: string): Promise<PathHandle>;
  stat(path: string): Promise<FileStat>;
  lstat(path: string): Promise<FileStat>;
  /** Whether the path exists (links followed). */
  exists(path: string): Promise<boolean>;
  /** Names in a directory, sorted. */
  readDir(path: string): Promise<string[]>;
  /** Creates a directory and its parents; an existing one is no error. */
  makeDir(path: string, options?: { mode?: number }): Promise<void>;
  /**
   * Removes a file or, recursively, a directory; a missing one is no error. `mayChange`: untrusted programs may
   * change the tree during the removal; nothing outside of it and no other file system below it is removed.
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
  /** Calls back after changes at `path`, perhaps too often, never too seldom; `onError` once if watching fails. */
  watch(path: string, onChange: () => void, onError: (error: Error) => void): FileWatch;
}
