/** The nodes of the in-memory file system, and Node's error codes. */
import type { Directory, Sibling } from './directory.ts';

/** Owner, group and mode of an inode, shared by all inodes with equal ones: a pod has two dozen inodes. */
export interface FileAccess {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/** Kinds that hold no data of the tree. */
export type SpecialKind = 'socket' | 'fifo' | 'block' | 'char';

/** One inode. */
export interface FileNode extends Sibling<FileNode> {
  readonly ino: number;
  readonly kind: 'file' | 'directory' | 'symlink' | SpecialKind;
  access: FileAccess;
  /** The time of the last change, shared by all inodes changed at the same instant. */
  changed: { readonly atMs: number };
  /**
   * A file's content, one byte per character: a string of a few hundred takes half the memory of a byte array. For a
   * symbolic link, its target.
   */
  data: string;
  children: Directory<FileNode>;
  /** False once no name refers to it: open handles may still write, but it does not count against the disk. */
  linked: boolean;
}

/** An error like Node's file system throws, also without a stack: most are answers to "is there a file?". */
export function fileError(code: string, call: string, path: string): Error {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const error = Object.assign(new Error(`${code}: ${call} '${path}'`), { code, syscall: call, path });
  Error.stackTraceLimit = stackTraceLimit;
  return error;
}

const knownAccess = new Map<string, FileAccess>();

/** The shared object for these permissions. */
export function accessOf(access: FileAccess): FileAccess {
  const { mode, uid, gid } = access;
  const key = `${mode} ${uid} ${gid}`;
  const cached = knownAccess.get(key);
  if (cached !== undefined) return cached;
  knownAccess.set(key, access);
  return access;
}
