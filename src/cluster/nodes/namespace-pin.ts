/**
 * Pins a UTS namespace by a bind mount of its file, as `ip netns` does for networks. The kernel reuses the numbers of
 * ended namespaces: while the mount exists, the number identifies this namespace. When the mount is gone, after a
 * reboot or an unmount by hand, the file belongs to another file system and matches no process.
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

  /** Pins the namespace of this process. The folder must exist. */
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

  /** Those of the processes that are in the pinned namespace, or in a holder's namespace other than the machine's. */
  async members(pids: readonly number[], holders: readonly number[] = []): Promise<ReadonlySet<number>> {
    const kept = [this.#path, ...holders.map(namespaceOf)];
    const wanted = new Set(await Promise.all(kept.map((path) => this.#identity(path))));
    for (const id of [undefined, await this.#identity(namespaceOf('self'))]) wanted.delete(id);
    if (wanted.size === 0) return new Set();
    const ids = await Promise.all(pids.map((pid) => this.#identity(namespaceOf(pid))));
    return new Set(pids.filter((_, at) => wanted.has(ids[at])));
  }

  /** Unpins the namespace, which ends with its last process. A missing pin is no error. */
  async remove(): Promise<void> {
    const { files, mounter } = this.#deps;
    while (await mounter.isMountPoint(this.#path)) await mounter.unmount(this.#path, { lazy: true });
    await files.remove(this.#path);
  }

  /** The device and inode of the namespace file, which are equal for all its processes. */
  async #identity(path: string): Promise<string | undefined> {
    const stat = await this.#deps.files.stat(path).catch(() => undefined);
    return stat && `${stat.dev}:${stat.ino}`;
  }
}

const namespaceOf = (pid: number | 'self'): string => `/proc/${pid}/ns/uts`;
