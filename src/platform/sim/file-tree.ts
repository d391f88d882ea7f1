/** The tree of an in-memory file system: inodes, path resolution with symbolic links, Node's error codes. Synchronous. */
import type { FileStat } from '../files.ts';

/** One inode. */
export interface FileNode {
  readonly ino: number;
  readonly kind: 'file' | 'directory' | 'symlink';
  mode: number;
  uid: number;
  gid: number;
  mtimeMs: number;
  /** Of a file. */
  data: Uint8Array;
  /** Of a symbolic link. */
  readonly target: string;
  /** Of a directory. */
  readonly children: Map<string, FileNode>;
}

const maxLinks = 40;

/** An error as Node's file system throws it. */
export function fileError(code: string, call: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${call} '${path}'`), { code, syscall: call, path });
}

/** An in-memory tree of files. */
export class FileTree {
  readonly #nowMs: () => number;
  #nextIno = 1;
  readonly root: FileNode;
  /** Called with the path of whatever changed. */
  onChange: (path: string) => void = () => undefined;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.root = this.#make('directory', 0o755);
  }

  /** The inode at a path, links followed except, on request, the last. */
  find(path: string, call: string, followLast = true): FileNode {
    return this.#walk(path, { call, followLast, links: 0 }).node;
  }

  /** The directory that holds the last name of the path, and that name. */
  parentOf(path: string, call: string): { parent: FileNode; name: string } {
    const parts = split(path);
    const name = parts.pop();
    if (name === undefined) throw fileError('EBUSY', call, path);
    const parent = this.#walk(`/${parts.join('/')}`, { call, followLast: true, links: 0 }).node;
    if (parent.kind !== 'directory') throw fileError('ENOTDIR', call, path);
    return { parent, name };
  }

  /** The file at a path for writing, made when it is not there. */
  fileForWriting(path: string, mode: number): FileNode {
    const { parent, name } = this.parentOf(path, 'open');
    const existing = parent.children.get(name);
    if (existing === undefined) {
      const node = this.#make('file', mode);
      parent.children.set(name, node);
      return node;
    }
    const node = existing.kind === 'symlink' ? this.#throughLink(path, existing, mode) : existing;
    if (node.kind === 'directory') throw fileError('EISDIR', 'open', path);
    return node;
  }

  /** Replaces the content of a file. */
  setData(node: FileNode, data: Uint8Array, path: string): void {
    node.data = data;
    node.mtimeMs = this.#nowMs();
    this.onChange(path);
  }

  makeDir(path: string, mode: number): void {
    let at = this.root;
    let walked = '';
    for (const part of split(path)) {
      walked += `/${part}`;
      let next = at.children.get(part);
      if (next?.kind === 'symlink') next = this.find(walked, 'mkdir');
      if (next === undefined) {
        next = this.#make('directory', mode);
        at.children.set(part, next);
        at.mtimeMs = this.#nowMs();
        this.onChange(walked);
      }
      if (next.kind !== 'directory') throw fileError(walked === path ? 'EEXIST' : 'ENOTDIR', 'mkdir', path);
      at = next;
    }
  }

  /** Takes a name out of its directory; false when it is not there. */
  unlink(path: string): boolean {
    const { parent, name } = this.parentOf(path, 'unlink');
    if (!parent.children.delete(name)) return false;
    parent.mtimeMs = this.#nowMs();
    this.onChange(path);
    return true;
  }

  rename(from: string, to: string): void {
    const node = this.find(from, 'rename', false);
    const { parent, name } = this.parentOf(to, 'rename');
    const existing = parent.children.get(name);
    if (`${to}/`.startsWith(`${from}/`) && from !== to) throw fileError('EINVAL', 'rename', from);
    if (existing?.kind === 'directory') {
      if (node.kind !== 'directory') throw fileError('EISDIR', 'rename', to);
      if (existing.children.size > 0) throw fileError('ENOTEMPTY', 'rename', to);
    } else if (existing !== undefined && node.kind === 'directory') {
      throw fileError('ENOTDIR', 'rename', to);
    }
    this.unlink(from);
    parent.children.set(name, node);
    this.onChange(to);
  }

  symlink(target: string, path: string): void {
    const { parent, name } = this.parentOf(path, 'symlink');
    if (parent.children.has(name)) throw fileError('EEXIST', 'symlink', path);
    parent.children.set(name, this.#make('symlink', 0o777, target));
    this.onChange(path);
  }

  /** Bytes of all files and number of inodes. */
  totals(node: FileNode = this.root): { bytes: number; inodes: number } {
    const total = { bytes: node.data.byteLength, inodes: 1 };
    for (const child of node.children.values()) {
      const below = this.totals(child);
      total.bytes += below.bytes;
      total.inodes += below.inodes;
    }
    return total;
  }

  stat(node: FileNode): FileStat {
    const { kind, mode, uid, gid, mtimeMs, ino } = node;
    const sizeBytes = kind === 'symlink' ? node.target.length : node.data.byteLength;
    return { kind, sizeBytes, mode, uid, gid, mtimeMs, dev: 1, ino };
  }

  #make(kind: FileNode['kind'], mode: number, target = ''): FileNode {
    const mtimeMs = this.#nowMs();
    return {
      ino: this.#nextIno++,
      kind,
      mode,
      uid: 0,
      gid: 0,
      mtimeMs,
      data: new Uint8Array(),
      target,
      children: new Map(),
    };
  }

  #throughLink(path: string, link: FileNode, mode: number): FileNode {
    return this.fileForWriting(resolveLink(path, link.target), mode);
  }

  #walk(path: string, how: { call: string; followLast: boolean; links: number }): { node: FileNode } {
    let at = this.root;
    const parts = split(path);
    for (const [index, part] of parts.entries()) {
      if (at.kind !== 'directory') throw fileError('ENOTDIR', how.call, path);
      const next = at.children.get(part);
      if (next === undefined) throw fileError('ENOENT', how.call, path);
      const last = index === parts.length - 1;
      if (next.kind === 'symlink' && (!last || how.followLast)) {
        if (how.links >= maxLinks) throw fileError('ELOOP', how.call, path);
        const here = `/${parts.slice(0, index + 1).join('/')}`;
        const rest = parts.slice(index + 1).map((name) => `/${name}`);
        return this.#walk(resolveLink(here, next.target) + rest.join(''), { ...how, links: how.links + 1 });
      }
      at = next;
    }
    return { node: at };
  }
}

/** Where a link at `path` points. */
function resolveLink(path: string, target: string): string {
  return target.startsWith('/') ? target : `${path.slice(0, path.lastIndexOf('/'))}/${target}`;
}

function split(path: string): string[] {
  if (!path.startsWith('/')) throw new TypeError(`not an absolute path: ${path}`);
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts;
}
