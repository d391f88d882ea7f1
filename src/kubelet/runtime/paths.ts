/** Paths of pods' files under the kubelet's root directory. Upstream: kubelet_getters.go, kuberuntime/helpers.go. */
import type { Pod } from '../../api/gen/core-v1.ts';

/** Roots of all paths; absolute. */
export interface RuntimePaths {
  /** The kubelet's root, upstream's /var/lib/kubelet. */
  readonly rootDir: string;
  /** Root of pods' logs, upstream's /var/log/pods. */
  readonly podLogsDir: string;
}

/** The directory of one pod. */
export function podDir(paths: RuntimePaths, uid: string): string {
  return `${paths.rootDir}/pods/${uid}`;
}

/** The directory of one container's termination messages. */
export function containerDir(paths: RuntimePaths, uid: string, name: string): string {
  return `${podDir(paths, uid)}/containers/${name}`;
}

/** The hosts file shared by a pod's containers. */
export function hostsFilePath(paths: RuntimePaths, uid: string): string {
  return `${podDir(paths, uid)}/etc-hosts`;
}

/** The directory of bind mounts of the pod's sub-paths. */
export function subpathsDir(paths: RuntimePaths, uid: string): string {
  return `${podDir(paths, uid)}/volume-subpaths`;
}

/** The log directory of one pod: `<ns>_<name>_<uid>`. */
export function podLogDir(paths: RuntimePaths, pod: { namespace: string; name: string; uid: string }): string {
  return `${paths.podLogsDir}/${pod.namespace}_${pod.name}_${pod.uid}`;
}

/** Parses the name of a log directory; undefined for other names. */
export function parsePodLogDir(name: string): { namespace: string; name: string; uid: string } | undefined {
  const parts = name.split('_');
  const [namespace, pod, uid] = parts;
  return parts.length === 3 ? { namespace: namespace!, name: pod!, uid: uid! } : undefined;
}

/** A container's log below its pod's log directory: `<container>/<restartCount>.log`. */
export function containerLogFile(container: string, restartCount: number): string {
  return `${container}/${restartCount}.log`;
}

/** The parts of the name of a pod's log directory. */
export function podLogIdentity(pod: Pod): { namespace: string; name: string; uid: string } {
  const { namespace = '', name = '', uid = '' } = pod.metadata;
  return { namespace, name, uid };
}
