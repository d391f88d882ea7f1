/** The file port in memory: deterministic, on virtual time, with watches. Whoever is there is root: modes are kept, not enforced. */
import { TextInterner } from '../../base/text-interner.ts';
import type { FileHandle, Files, FileWatch } from '../files.ts';
import { childCount, childrenOf } from './directory.ts';
import { accessOf, fileError, type FileNode, type SpecialKind } from './file-node.ts';
import { FileTree } from './file-tree.ts';

export interface MemoryFiles extends Files {
  /** Everything there, as text, by path; for comparing in tests. */
  snapshot(): Record<string, string>;
  /** Something else fills the disk until only this many bytes are left; undefined: it is gone again. */
  occupy(leaveBytes: number | undefined): void;
  /** Makes a socket, FIFO or device, which is only there. */
  makeSpecial(path: string, kind: SpecialKind): void;
}

/** The dependencies of an in-memory file system, and its size. */
export interface MemoryFilesOptions {
  readonly nowMs: () => number;
  /** Shared with others that hold the same files. Default: its own. */
  readonly texts?: TextInterner;
  /** Default 100 GiB. */
  readonly totalBytes?: number;
  /** Default a million. */
  readonly totalInodes?: number;
}

interface Watch {
  readonly path: string;
  readonly onChange: () => void;
  pending: boolean;
}

/** Makes an empty file system. */
export function createMemoryFiles(options: MemoryFilesOptions): MemoryFiles {
  const { nowMs, texts = new TextInterner(), totalBytes = 100 * 2 ** 30, totalInodes = 1_000_000 } = options;
  const tree = new FileTree({ nowMs, texts, totalBytes, totalInodes });
  const watches = new Set<Watch>();
  tree.onChange = (path) => notify(watches, path);
  const write = (path: string, data: string | Uint8Array, mode = 0o644): void =>
    tree.setData(tree.fileForWriting(path, mode), toContent(data), path);
  return {
    readFile: async (path) => readData(tree, path),
    readText: async (path) => new TextDecoder().decode(readData(tree, path)),
    writeFile: async (path, data, own) => write(path, data, own?.mode),
    async writeFileAtomic(path, data, own) {
      const beside = `${path}.tmp`;
      write(beside, data, own?.mode ?? 0o644);
      tree.rename(beside, path);
    },
    open: async (path, flags, own) => openHandle(tree, path, { flags, followLinks: own?.followLinks ?? false }),
    async openPath(path) {
      const node = tree.find(path, 'open', false);
      return { path, stat: async () => tree.stat(node), close: async () => undefined };
    },
    stat: async (path) => tree.stat(tree.find(path, 'stat')),
    lstat: async (path) => tree.stat(tree.find(path, 'lstat', false)),
    exists: async (path) => exists(tree, path),
    async readDir(path) {
      const node = tree.find(path, 'scandir');
      if (node.kind !== 'directory') throw fileError('ENOTDIR', 'scandir', path);
      return childrenOf(node.children)
        .map(({ name }) => name)
        .sort();
    },
    makeDir: async (path, own) => tree.makeDir(path, own?.mode ?? 0o755),
    async remove(path) {
      if (lexists(tree, path)) tree.unlink(path);
    },
    async removeDir(path) {
      const node = tree.find(path, 'rmdir', false);
      if (node.kind !== 'directory') throw fileError('ENOTDIR', 'rmdir', path);
      if (childCount(node.children) > 0) throw fileError('ENOTEMPTY', 'rmdir', path);
      tree.unlink(path);
    },
    rename: async (from, to) => tree.rename(from, to),
    symlink: async (target, path) => tree.symlink(target, path),
    async readLink(path) {
      const node = tree.find(path, 'readlink', false);
      if (node.kind !== 'symlink') throw fileError('EINVAL', 'readlink', path);
      return node.data;
    },
    async chmod(path, mode) {
      const node = tree.find(path, 'chmod');
      node.access = accessOf({ ...node.access, mode });
    },
    async chown(path, uid, gid) {
      const node = tree.find(path, 'chown');
      const { access } = node;
      node.access = accessOf({ ...access, uid: uid < 0 ? access.uid : uid, gid: gid < 0 ? access.gid : gid });
    },
    async statFileSystem(path) {
      tree.find(path, 'statfs');
      const { bytes, inodes } = tree.totals();
      return { totalBytes, availableBytes: totalBytes - bytes, totalInodes, availableInodes: totalInodes - inodes };
    },
    occupy: (leaveBytes) => tree.occupy(leaveBytes),
    makeSpecial: (path, kind) => tree.special(path, kind),
    watch: (path, onChange, onError) => addWatch({ tree, watches }, { path, onChange, onError }),
    snapshot: () => snapshot(tree),
  };
}

function addWatch(
  files: { readonly tree: FileTree; readonly watches: Set<Watch> },
  request: { readonly path: string; readonly onChange: () => void; readonly onError: (error: Error) => void },
): FileWatch {
  if (!exists(files.tree, request.path)) {
    let stopped = false;
    queueMicrotask(() => stopped || request.onError(fileError('ENOENT', 'watch', request.path)));
    return { stop: () => void (stopped = true) };
  }
  const watch: Watch = { path: request.path, onChange: request.onChange, pending: false };
  files.watches.add(watch);
  return { stop: () => void files.watches.delete(watch) };
}

/** Changes of one turn come as one call, as they may on a real system. */
function notify(watches: Set<Watch>, path: string): void {
  for (const watch of watches) {
    const concerned = path === watch.path || path.slice(0, path.lastIndexOf('/')) === watch.path;
    if (!concerned || watch.pending) continue;
    watch.pending = true;
    queueMicrotask(() => {
      watch.pending = false;
      if (watches.has(watch)) watch.onChange();
    });
  }
}

function regularFile(tree: FileTree, path: string, followLinks: boolean): FileNode {
  const node = tree.find(path, 'open', followLinks);
  if (node.kind === 'symlink') throw fileError('ELOOP', 'open', path);
  if (node.kind === 'file') return node;
  throw fileError('EINVAL', `${path} is a ${node.kind}, not a regular file, open`, path);
}

function openHandle(
  tree: FileTree,
  path: string,
  { flags, followLinks }: { readonly flags: 'r' | 'a'; readonly followLinks: boolean },
): FileHandle {
  const node = flags === 'a' ? tree.fileForWriting(path, 0o644) : regularFile(tree, path, followLinks);
  if (flags === 'a') tree.onChange(path);
  let open = true;
  const check = (call: string): void => {
    if (!open) throw fileError('EBADF', call, path);
    if (node.kind === 'directory' && call !== 'fstat') throw fileError('EISDIR', call, path);
  };
  return {
    async read(offset, length) {
      check('read');
      return fromContent(node.data.slice(offset, offset + length));
    },
    async append(data) {
      check('write');
      if (flags !== 'a') throw fileError('EBADF', 'write', path);
      tree.setData(node, node.data + toContent(data), path);
    },
    async stat() {
      check('fstat');
      return tree.stat(node);
    },
    sync: async () => check('fsync'),
    async close() {
      open = false;
    },
  };
}

function readData(tree: FileTree, path: string): Uint8Array {
  const node = tree.find(path, 'open');
  if (node.kind === 'directory') throw fileError('EISDIR', 'read', path);
  return fromContent(node.data);
}

function exists(tree: FileTree, path: string, followLast = true): boolean {
  return typeof tree.lookUp(path, followLast) !== 'string';
}

function lexists(tree: FileTree, path: string): boolean {
  return exists(tree, path, false);
}

function snapshot(tree: FileTree): Record<string, string> {
  const all: Record<string, string> = {};
  const visit = (node: typeof tree.root, path: string): void => {
    if (node.kind === 'file') all[path] = new TextDecoder().decode(fromContent(node.data));
    else if (node.kind === 'symlink') all[path] = `-> ${node.data}`;
    else if (childCount(node.children) === 0 && path !== '') all[`${path}/`] = '';
    for (const child of childrenOf(node.children)) visit(child, `${path}/${child.name}`);
  };
  visit(tree.root, '');
  return all;
}

/** A character per byte. Text without other characters than ASCII's is that already. */
function toContent(data: string | Uint8Array): string {
  if (typeof data !== 'string') return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('latin1');
  return Buffer.byteLength(data) === data.length ? data : Buffer.from(data).toString('latin1');
}

/** The bytes, which are the caller's own. */
function fromContent(content: string): Uint8Array {
  return Buffer.from(content, 'latin1');
}
