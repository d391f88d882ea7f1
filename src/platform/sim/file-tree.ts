/** The tree of an in-memory file system: inodes, path resolution with symbolic links, Node's error codes. Synchronous. */
import type { TextInterner } from '../../base/text-interner.ts';
import type { FileStat } from '../files.ts';
import { childCount, childOf, EMPTY_DIRECTORY, withChild, withoutChild } from './directory.ts';
import { accessOf, fileError, type FileNode, type SpecialKind } from './file-node.ts';
import { knownParts, partsOf, pathOf, resolveLink } from './path-parts.ts';

const MAX_LINKS = 40;

/** The limits of the disk. */
export interface FileTreeLimits {
  readonly nowMs: () => number;
  /** Shares equal names and contents. */
  readonly texts: TextInterner;
  readonly totalBytes: number;
  readonly totalInodes: number;
}

/** An in-memory tree of files. */
export class FileTree {
  readonly #nowMs: () => number;
  #now = { atMs: NaN };
  #nextIno = 1;
  readonly root: FileNode;
  readonly #limits: FileTreeLimits;
  #bytes = 0;
  #inodes = 1;
  #occupiedBytes = 0;
  /** Called with every changed path. */
  onChange: (path: string) => void = () => undefined;

  constructor(limits: FileTreeLimits) {
    this.#limits = limits;
    this.#nowMs = limits.nowMs;
    this.root = this.#make('directory', 0o755);
  }

  /** The inode at a path, following links except, on request, the last. */
  find(path: string, call: string, followLast = true): FileNode {
    const found = this.lookUp(path, followLast);
    if (typeof found === 'string') throw fileError(found, call, path);
    return found;
  }

  /** Like `find`, but returns an error code when there is none. */
  lookUp(path: string, followLast = true): FileNode | string {
    return this.#walk(knownParts(path), followLast, 0);
  }

  /** The directory that holds the last name of the path, and that name. */
  parentOf(path: string, call: string): { parent: FileNode; name: string } {
    const parts = partsOf(path);
    const name = parts.pop();
    if (name === undefined) throw fileError('EBUSY', call, path);
    const parent = this.#walk(parts, true, 0);
    if (typeof parent === 'string') throw fileError(parent, call, path);
    if (parent.kind !== 'directory') throw fileError('ENOTDIR', call, path);
    return { parent, name };
  }

  /** The file at a path for writing, made when it is not there. */
  fileForWriting(path: string, mode: number): FileNode {
    const { parent, name } = this.parentOf(path, 'open');
    const existing = childOf(parent.children, name);
    if (existing === undefined) return this.#attach(parent, name, this.#make('file', mode));
    const node = existing.kind === 'symlink' ? this.#throughLink(path, existing, mode) : existing;
    if (node.kind === 'directory') throw fileError('EISDIR', 'open', path);
    return node;
  }

  /** Replaces the content of a file. */
  setData(node: FileNode, data: string, path: string): void {
    const moreBytes = data.length - node.data.length;
    if (moreBytes > 0 && this.totals().bytes + moreBytes > this.#limits.totalBytes)
      throw fileError('ENOSPC', 'write', path);
    if (node.linked) this.#bytes += moreBytes;
    node.data = this.#limits.texts.intern(data, true);
    node.changed = this.#instant();
    this.onChange(path);
  }

  makeDir(path: string, mode: number): void {
    let at = this.root;
    const parts = partsOf(path);
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index]!;
      let next = childOf(at.children, part);
      if (next?.kind === 'symlink') next = this.find(pathOf(parts, index + 1), 'mkdir');
      if (next === undefined) {
        next = this.#attach(at, part, this.#make('directory', mode));
        at.changed = this.#instant();
        this.onChange(pathOf(parts, index + 1));
      }
      if (next.kind !== 'directory') throw fileError(index === parts.length - 1 ? 'EEXIST' : 'ENOTDIR', 'mkdir', path);
      at = next;
    }
  }

  /** Takes a name out of its directory; false when it is not there. */
  unlink(path: string): boolean {
    const { parent, name } = this.parentOf(path, 'unlink');
    const node = childOf(parent.children, name);
    if (node === undefined) return false;
    parent.children = withoutChild(parent.children, name);
    this.#forget(node);
    parent.changed = this.#instant();
    this.onChange(path);
    return true;
  }

  rename(from: string, to: string): void {
    const node = this.find(from, 'rename', false);
    const { parent, name } = this.parentOf(to, 'rename');
    const existing = childOf(parent.children, name);
    if (`${to}/`.startsWith(`${from}/`) && from !== to) throw fileError('EINVAL', 'rename', from);
    if (existing?.kind === 'directory') {
      if (node.kind !== 'directory') throw fileError('EISDIR', 'rename', to);
      if (childCount(existing.children) > 0) throw fileError('ENOTEMPTY', 'rename', to);
    } else if (existing !== undefined && node.kind === 'directory') {
      throw fileError('ENOTDIR', 'rename', to);
    }
    if (existing === node) return;
    const source = this.parentOf(from, 'rename');
    source.parent.children = withoutChild(source.parent.children, source.name);
    source.parent.changed = this.#instant();
    this.onChange(from);
    if (existing !== undefined) this.#forget(existing);
    parent.children = withChild(parent.children, this.#limits.texts.intern(name), node);
    this.onChange(to);
  }

  symlink(target: string, path: string): void {
    const { parent, name } = this.parentOf(path, 'symlink');
    if (childOf(parent.children, name) !== undefined) throw fileError('EEXIST', 'symlink', path);
    this.#attach(parent, name, this.#make('symlink', 0o777, this.#limits.texts.intern(target)));
    this.onChange(path);
  }

  /** A file that is not regular: a socket, a device. */
  special(path: string, kind: SpecialKind): void {
    const { parent, name } = this.parentOf(path, 'mknod');
    if (childOf(parent.children, name) !== undefined) throw fileError('EEXIST', 'mknod', path);
    this.#attach(parent, name, this.#make(kind, 0o660));
    this.onChange(path);
  }

  /** Bytes of all files and number of inodes. */
  totals(): { bytes: number; inodes: number } {
    return { bytes: this.#bytes + this.#occupiedBytes, inodes: this.#inodes };
  }

  /** Lets something else use the disk until only `leaveBytes` are free; undefined: nothing else. */
  occupy(leaveBytes: number | undefined): void {
    const free = this.#limits.totalBytes - this.#bytes;
    this.#occupiedBytes = leaveBytes === undefined ? 0 : Math.max(0, free - leaveBytes);
  }

  stat(node: FileNode): FileStat {
    const { kind, access, changed, ino, data } = node;
    return { kind, sizeBytes: data.length, ...access, mtimeMs: changed.atMs, dev: 1, ino };
  }

  #make(kind: FileNode['kind'], mode: number, data = ''): FileNode {
    const [access, changed] = [accessOf({ mode, uid: 0, gid: 0 }), this.#instant()];
    const ino = this.#nextIno++;
    return { name: '', next: undefined, ino, kind, access, changed, data, children: EMPTY_DIRECTORY, linked: true };
  }

  #instant(): FileNode['changed'] {
    const atMs = this.#nowMs();
    if (atMs !== this.#now.atMs) this.#now = { atMs };
    return this.#now;
  }

  #attach(parent: FileNode, name: string, node: FileNode): FileNode {
    if (this.#inodes >= this.#limits.totalInodes) throw fileError('ENOSPC', 'open', name);
    parent.children = withChild(parent.children, this.#limits.texts.intern(name), node);
    this.#inodes++;
    return node;
  }

  #forget(node: FileNode): void {
    node.linked = false;
    this.#inodes--;
    if (node.kind === 'file') this.#bytes -= node.data.length;
  }

  #throughLink(path: string, link: FileNode, mode: number): FileNode {
    return this.fileForWriting(resolveLink(path, link.data), mode);
  }

  #walk(parts: readonly string[], followLast: boolean, links: number): FileNode | string {
    let at = this.root;
    for (let index = 0; index < parts.length; index++) {
      if (at.kind !== 'directory') return 'ENOTDIR';
      const next = childOf(at.children, parts[index]!);
      if (next === undefined) return 'ENOENT';
      if (next.kind === 'symlink' && (followLast || index < parts.length - 1)) {
        if (links >= MAX_LINKS) return 'ELOOP';
        const target = resolveLink(pathOf(parts, index + 1), next.data);
        return this.#walk([...knownParts(target), ...parts.slice(index + 1)], followLast, links + 1);
      }
      at = next;
    }
    return at;
  }
}
