/**
 * Keeps a UTS namespace by a bind mount of its file, as `ip netns` keeps networks. The kernel gives the number of a namespace
 * that has ended to the next one, which may be anybody's: as long as the mount is there, the number is this namespace's. Where it
 * is not, after a restart of the machine or an unmount by hand, the file is one of another file system and matches no process.
 */
import type { Platform } from '../../platform/platform.ts';

type Deps = Pick<Platform, 'files' | 'mounter'>;

export class NamespacePin {
  readonly #deps: Deps;
  readonly #path: string;

  constructor(deps: Deps, path: string) {
    this.#deps = deps;
    this.#path = path;
  }

  /** Keeps the namespace of this process; its folder is there. */
  async set(pid: number): Promise<void> {
    const { files, mounter } = this.#deps;
    const id = await this.#identity(namespaceOf(pid));
    if (id === undefined) throw new Error(`the process ${pid} has ended`);
    if (id === (await this.#identity(namespaceOf('self')))) throw new Error(`the process ${pid} is the machine's`);
    if ((await this.#identity(this.#path)) === id) return;
    await this.remove();
    await files.writeFile(this.#path, '');
    await mounter.mount({ source: namespaceOf(pid), target: this.#path, options: ['bind'] });
  }

  /** Which of these processes are in the namespace that is kept, or in those of holders, never in the machine's. */
  async members(pids: readonly number[], holders: readonly number[] = []): Promise<ReadonlySet<number>> {
    const kept = [this.#path, ...holders.map(namespaceOf)];
    const wanted = new Set(await Promise.all(kept.map((path) => this.#identity(path))));
    for (const id of [undefined, await this.#identity(namespaceOf('self'))]) wanted.delete(id);
    if (wanted.size === 0) return new Set();
    const ids = await Promise.all(pids.map((pid) => this.#identity(namespaceOf(pid))));
    return new Set(pids.filter((_, at) => wanted.has(ids[at])));
  }

  /** The namespace ends with its last process. Nothing there is no error. */
  async remove(): Promise<void> {
    const { files, mounter } = this.#deps;
    while (await mounter.isMountPoint(this.#path)) await mounter.unmount(this.#path, { lazy: true });
    await files.remove(this.#path);
  }

  /** Device and inode; a process in the namespace shows the same. */
  async #identity(path: string): Promise<string | undefined> {
    const stat = await this.#deps.files.stat(path).catch(() => undefined);
    return stat && `${stat.dev}:${stat.ino}`;
  }
}

const namespaceOf = (pid: number | 'self'): string => `/proc/${pid}/ns/uts`;
