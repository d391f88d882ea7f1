/** The mount port. Real: the `mount` and `umount` programs through `Exec` and `/proc/self/mountinfo`. Upstream: k8s.io/mount-utils. */

export interface MountPoint {
  readonly source: string;
  readonly path: string;
  readonly type: string;
  readonly options: readonly string[];
}

/** Mounts and unmounts. */
export interface Mounter {
  /** Mounts; `options` as for `mount -o`. Bind mounts apply read-only by a second remount. */
  mount(request: { source: string; target: string; type?: string; options?: readonly string[] }): Promise<void>;
  /** Unmounts; no error when nothing is mounted there. */
  unmount(target: string, options?: { lazy?: boolean }): Promise<void>;
  /** All mounts of this mount namespace. */
  list(): Promise<readonly MountPoint[]>;
  isMountPoint(path: string): Promise<boolean>;
}
