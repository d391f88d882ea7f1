/**
 * A container's mounts: its volumes, /etc/hosts and the file for its termination message. Upstream: kubelet_pods.go
 * (makeMounts), kuberuntime_container.go (makeMounts).
 */
import { podUid } from '../types/pod-update.ts';
import { trimEndOf } from '../../base/trim-end.ts';
import type { Container, Pod, VolumeMount } from '../../api/gen/core-v1.ts';
import type { Device, Mount, MountPropagation } from '../../cri/gen/cri-types.ts';
import type { Init } from '../../cri/call-options.ts';
import type { Files } from '../../platform/files.ts';
import type { MountedVolume } from '../volumes/volume-manager-contract.ts';
import { ContainerConfigError } from './container-config-error.ts';
import { expandStrict } from './expansion.ts';
import { hostNetworkHostsFile, managedHostsFile } from '../network/hosts-file.ts';
import { hostsFilePath, type RuntimePaths } from './paths.ts';
import type { Subpaths } from './subpath.ts';

export interface MountContext {
  readonly pod: Pod;
  readonly container: Container;
  readonly volumes: ReadonlyMap<string, MountedVolume>;
  /** Image references of the pod's image volumes, by volume name. */
  readonly imageVolumes: ReadonlyMap<string, string>;
  /** Looks up a variable of the container's environment. */
  readonly lookup: (name: string) => string | undefined;
  readonly subpaths: Subpaths;
  /** Why the runtime cannot mount images; undefined: it can. */
  readonly imageVolumeProblem: string | undefined;
  /** The runtime can make mounts recursively read-only. */
  readonly recursiveReadOnlySupported: boolean;
}

const PROPAGATIONS: Readonly<Record<string, MountPropagation>> = {
  None: 'PROPAGATION_PRIVATE',
  HostToContainer: 'PROPAGATION_HOST_TO_CONTAINER',
  Bidirectional: 'PROPAGATION_BIDIRECTIONAL',
};
/** Writable by any user of the container. */
const TERMINATION_FILE_MODE = 0o666;

function recursiveReadOnly(mount: VolumeMount, context: MountContext): boolean {
  const mode = mount.recursiveReadOnly ?? 'Disabled';
  if (mode === 'Disabled') return false;
  if (!mount.readOnly)
    throw new ContainerConfigError(
      `failed to resolve recursive read-only mode: volume "${mount.name}" requested recursive read-only mode, but it is not read-only`,
    );
  if (context.recursiveReadOnlySupported) return true;
  if (mode === 'IfPossible') return false;
  throw new ContainerConfigError(
    `failed to resolve recursive read-only mode: volume "${mount.name}" requested recursive read-only mode, but it is not supported by the runtime`,
  );
}

/**
 * The subPath, checked lexically, since the runtime resolves it in images. Upstream checks it for every kind of
 * volume.
 */
function subPathOf(mount: VolumeMount, context: MountContext): string {
  const subPath = expandedSubPath(mount, context);
  const refused = (why: string): ContainerConfigError =>
    new ContainerConfigError(
      `failed to prepare subPath for volumeMount "${mount.name}" of container "${context.container.name}": ${why}`,
    );
  if (subPath.startsWith('/')) throw refused(`"${subPath}" must not be an absolute path`);
  if (subPath.split('/').includes('..')) throw refused(`"${subPath}" must not contain ".."`);
  return subPath;
}

function expandedSubPath(mount: VolumeMount, context: MountContext): string {
  if (!mount.subPathExpr) return mount.subPath ?? '';
  const { text, missing } = expandStrict(mount.subPathExpr, context.lookup);
  if (missing !== undefined) throw new ContainerConfigError(`missing value for "${missing}"`);
  return text;
}

function containerPath(mountPath: string): string {
  return mountPath.startsWith('/') ? mountPath : `/${mountPath}`;
}

async function volumeMount(mount: VolumeMount, mountIndex: number, context: MountContext): Promise<Init<Mount>> {
  const { pod, container } = context;
  const image = context.imageVolumes.get(mount.name);
  const subPath = subPathOf(mount, context);
  const target = containerPath(mount.mountPath);
  if (image !== undefined && context.imageVolumeProblem !== undefined)
    throw new ContainerConfigError(
      `failed to mount image volume "${mount.name}" into container "${container.name}": ${context.imageVolumeProblem}`,
    );
  if (image !== undefined) return { containerPath: target, image: { image }, imageSubPath: subPath, readonly: true };
  const volume = context.volumes.get(mount.name);
  if (volume === undefined) {
    throw new ContainerConfigError(`cannot find volume "${mount.name}" to mount into container "${container.name}"`);
  }
  const hostPath =
    subPath === ''
      ? volume.hostPath
      : await context.subpaths
          .prepare({
            podUid: podUid(pod),
            volumeName: mount.name,
            volumePath: volume.hostPath,
            subPath,
            containerName: container.name,
            mountIndex,
          })
          .catch((error: unknown) => {
            throw new ContainerConfigError(
              `failed to prepare subPath for volumeMount "${mount.name}" of container "${container.name}"`,
              { cause: error },
            );
          });
  return {
    containerPath: target,
    hostPath,
    readonly: (mount.readOnly ?? false) || volume.readOnly,
    recursiveReadOnly: recursiveReadOnly(mount, context),
    selinuxRelabel: volume.selinuxRelabel,
    propagation: PROPAGATIONS[mount.mountPropagation ?? 'None'] ?? 'PROPAGATION_PRIVATE',
  };
}

/**
 * Mounts of the container's volumes, in the order of its spec. Rejects with ContainerConfigError when a volume is
 * missing.
 */
export async function volumeMounts(context: MountContext): Promise<Init<Mount>[]> {
  const mounts: Init<Mount>[] = [];
  for (const [index, mount] of (context.container.volumeMounts ?? []).entries())
    mounts.push(await volumeMount(mount, index, context));
  return mounts;
}

export function blockDevices(container: Container, volumes: ReadonlyMap<string, MountedVolume>): Init<Device>[] {
  return (container.volumeDevices ?? []).map((device) => {
    const volume = volumes.get(device.name);
    if (volume === undefined || !volume.block)
      throw new ContainerConfigError(`cannot find device "${device.name}" for container "${container.name}"`);
    return { containerPath: device.devicePath, hostPath: volume.hostPath, permissions: volume.readOnly ? 'r' : 'mrw' };
  });
}

/**
 * Writes the pod's hosts file and returns its mount; undefined when the container mounts its own, or while the pod
 * has no address.
 */
export async function hostsFileMount(input: {
  pod: Pod;
  container: Container;
  podIps: readonly string[];
  clusterDomain: string;
  files: Files;
  paths: RuntimePaths;
}): Promise<Init<Mount> | undefined> {
  const { pod, container, podIps, files } = input;
  const hostNetwork = pod.spec?.hostNetwork ?? false;
  const own = (container.volumeMounts ?? []).some((mount) => trimEndOf(mount.mountPath, '/') === '/etc/hosts');
  if (own || (podIps.length === 0 && !hostNetwork)) return undefined;
  const path = hostsFilePath(input.paths, podUid(pod));
  const content = hostNetwork
    ? hostNetworkHostsFile(await files.readText('/etc/hosts').catch(() => ''), pod)
    : managedHostsFile({ pod, podIps, clusterDomain: input.clusterDomain });
  await files.makeDir(path.slice(0, path.lastIndexOf('/')), { mode: 0o750 });
  await files.writeFile(path, content, { mode: 0o644 });
  return { containerPath: '/etc/hosts', hostPath: path, readonly: false, selinuxRelabel: true };
}

/** Creates the file for the container's termination message and returns its mount; undefined when the path is empty. */
export async function terminationMessageMount(input: {
  container: Container;
  directory: string;
  unique: string;
  files: Files;
}): Promise<Init<Mount> | undefined> {
  const { container, directory, files } = input;
  const target = container.terminationMessagePath ?? '';
  if (target === '') return undefined;
  const hostPath = `${directory}/${input.unique}`;
  await files.makeDir(directory, { mode: 0o750 });
  await files.writeFile(hostPath, '', { mode: TERMINATION_FILE_MODE });
  // The umask reduces the mode at creation, and the container may run as any user.
  await files.chmod(hostPath, TERMINATION_FILE_MODE);
  return { containerPath: target, hostPath, selinuxRelabel: true };
}
