/**
 * Paths of pods' volumes. Upstream: pkg/kubelet/kubelet_getters.go.
 *
 * Differs: volumes in memory (secrets, projected, downward API) are on one tmpfs of the node, below
 * `<root>/memory-volumes`, and upstream's path is a link to it: separate mounts would need a process, and a line in
 * every mount table, for each volume.
 */

/** The kubelet's root directory as paths of volumes. */
export interface VolumePaths {
  readonly podsDir: string;
  /** Mount point of the node's tmpfs for volumes. */
  readonly memoryRoot: string;
  podDir(podUid: string): string;
  volumesDir(podUid: string): string;
  /** `<root>/pods/<uid>/volumes/kubernetes.io~configmap/<name>`. */
  volumeDir(podUid: string, plugin: string, name: string): string;
  memoryPodDir(podUid: string): string;
  memoryVolumeDir(podUid: string, plugin: string, name: string): string;
}

/** A plugin's name as a directory name. */
export function escapePluginName(plugin: string): string {
  return plugin.replaceAll('/', '~');
}

/** Paths below `kubeletRoot`. */
export function createVolumePaths(kubeletRoot: string): VolumePaths {
  const podsDir = `${kubeletRoot}/pods`;
  const memoryRoot = `${kubeletRoot}/memory-volumes`;
  const below = (dir: string, plugin: string, name: string): string => `${dir}/${escapePluginName(plugin)}/${name}`;
  const volumesDir = (podUid: string): string => `${podsDir}/${podUid}/volumes`;
  return {
    podsDir,
    memoryRoot,
    podDir: (podUid) => `${podsDir}/${podUid}`,
    volumesDir,
    volumeDir: (podUid, plugin, name) => below(volumesDir(podUid), plugin, name),
    memoryPodDir: (podUid) => `${memoryRoot}/${podUid}`,
    memoryVolumeDir: (podUid, plugin, name) => below(`${memoryRoot}/${podUid}`, plugin, name),
  };
}
