/** A pod's directories under the kubelet's root. Upstream: pkg/kubelet/kubelet_getters.go, makePodDataDirs. */
import type { Files } from '../../platform/files.ts';

/** Paths, creation and removal of pods' directories. */
export interface PodDirectories {
  podsDir(): string;
  podDir(uid: string): string;
  podVolumesDir(uid: string): string;
  podEtcHostsPath(uid: string): string;
  podContainerDir(uid: string, containerName: string): string;
  /** Creates the pod's directories; cheap when they exist. */
  makePodDataDirs(uid: string): Promise<void>;
  /** Uids that have a directory. */
  listPodUids(): Promise<readonly string[]>;
  /** Removes the pod's directory and its content. Nothing may be mounted below it. */
  removePodDir(uid: string): Promise<void>;
}

const PARTS = ['volumes', 'plugins', 'containers'] as const;

/** Directories below `rootDir`. */
export function createPodDirectories(files: Files, rootDir: string): PodDirectories {
  const made = new Set<string>();
  const podsDir = `${rootDir}/pods`;
  const podDir = (uid: string): string => `${podsDir}/${uid}`;
  return {
    podsDir: () => podsDir,
    podDir,
    podVolumesDir: (uid) => `${podDir(uid)}/volumes`,
    podEtcHostsPath: (uid) => `${podDir(uid)}/etc-hosts`,
    podContainerDir: (uid, containerName) => `${podDir(uid)}/containers/${containerName}`,
    async makePodDataDirs(uid) {
      if (made.has(uid)) return;
      await files.makeDir(podDir(uid), { mode: 0o750 });
      await Promise.all(PARTS.map((part) => files.makeDir(`${podDir(uid)}/${part}`, { mode: 0o750 })));
      made.add(uid);
    },
    async listPodUids() {
      return (await files.exists(podsDir)) ? files.readDir(podsDir) : [];
    },
    async removePodDir(uid) {
      made.delete(uid);
      await files.remove(podDir(uid));
    },
  };
}
