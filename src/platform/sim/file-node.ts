/** The nodes of the in-memory file system, and Node's error codes. */
import type { Directory, Sibling } from './directory.ts';

/** Owner, group and mode of an inode. One object for all inodes with the same ones: a pod has two dozen inodes. */
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
  /** When it was changed. One object for all that were changed at one instant. */
  changed: { readonly atMs: number };
  /**
   * A file's content, a byte per character: a string of a few hundred takes half of what an array with its buffer does. For a
   * symbolic link, where it leads.
   */
  data: string;
  children: Directory<FileNode>;
  /** False once no name leads to it: whoever has it open may go on writing, but it counts no more. */
  linked: boolean;
}

/** An error as Node's file system throws it, which as there has no stack: most are answers to "is there a file?". */
export function fileError(code: string, call: string, path: string): Error {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const error = Object.assign(new Error(`${code}: ${call} '${path}'`), { code, syscall: call, path });
  Error.stackTraceLimit = stackTraceLimit;
  return error;
}

const knownAccess = new Map<string, FileAccess>();

/** The one object that says so. */
export function accessOf(access: FileAccess): FileAccess {
  const { mode, uid, gid } = access;
  const key = `${mode} ${uid} ${gid}`;
  const known = knownAccess.get(key);
  if (known !== undefined) return known;
  knownAccess.set(key, access);
  return access;
}
