/**
 * The configuration of a container. Upstream: kuberuntime_container.go (generateContainerConfig), kubelet_pods.go
 * (GenerateRunContainerOptions).
 */
import { podUid } from '../types/pod-update.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import type { ContainerConfig, Image, Mount, UserNamespace } from '../../cri/gen/cri-types.ts';
import type { Init } from '../../cri/call-options.ts';
import type { Files } from '../../platform/files.ts';
import type { MountedVolume } from '../volumes/volume-manager-contract.ts';
import { ContainerConfigError } from './container-config-error.ts';
import { expandValue, makeEnvironment, type EnvironmentSources } from './environment.ts';
import { MAX_EXPANDED_LENGTH } from './expansion.ts';
import { containerAnnotations, containerLabels } from './labels.ts';
import { containerResources, type LinuxResourceConfig } from './linux-resources.ts';
import { blockDevices, hostsFileMount, terminationMessageMount, volumeMounts } from './mounts.ts';
import { containerDir, containerLogFile, type RuntimePaths } from './paths.ts';
import {
  containerSecurityContext,
  verifyRunAsNonRoot,
  withUserNamespace,
  type SecurityConfig,
} from './security-context.ts';
import { signalOf } from './stop-signal.ts';
import type { Subpaths } from './subpath.ts';

/** The settings that device plugins, resource drivers and the CPU and memory managers add to a container. */
export interface ContainerDevices {
  readonly devices: readonly {
    readonly hostPath: string;
    readonly containerPath: string;
    readonly permissions: string;
  }[];
  readonly mounts: readonly { readonly hostPath: string; readonly containerPath: string; readonly readOnly: boolean }[];
  readonly environment: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly cdiDevices: readonly string[];
  /** The CPUs and NUMA nodes it is bound to, as kernel lists; absent: all. */
  readonly cpusetCpus?: string;
  readonly cpusetMems?: string;
  /** It has exclusive CPUs, so it gets no quota. */
  readonly withoutCpuQuota?: true;
}

export interface ContainerConfigDeps {
  readonly files: Files;
  readonly paths: RuntimePaths;
  readonly sources: EnvironmentSources;
  readonly subpaths: Subpaths;
  readonly security: SecurityConfig;
  readonly resources: LinuxResourceConfig;
  readonly clusterDomain: string;
  /** A new short name, for files that are made at each start. */
  uniqueName(): string;
  recursiveReadOnlySupported(pod: Pod): boolean;
  /** Why the runtime cannot mount images; undefined: it can. */
  imageVolumeProblem?(): string | undefined;
  /** Devices allocated to the container. */
  devices?(pod: Pod, container: Container): Promise<ContainerDevices | undefined>;
}

export interface ContainerConfigInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly restartCount: number;
  readonly podIps: readonly string[];
  /** The image as present on the node. */
  readonly image: Image;
  /** The image's id. */
  readonly imageRef: string;
  readonly volumes: ReadonlyMap<string, MountedVolume>;
  readonly imageVolumes: ReadonlyMap<string, string>;
  /** The pod's user namespace; absent: the host's. */
  readonly userNamespace?: Init<UserNamespace> | undefined;
  /** The container whose processes an ephemeral container sees. */
  readonly targetId?: string;
}

/** The container's log, below the pod's log directory. */
function containerLogPath(input: Pick<ContainerConfigInput, 'container' | 'restartCount'>): string {
  return containerLogFile(input.container.name, input.restartCount);
}

async function mountsOf(
  input: ContainerConfigInput,
  deps: ContainerConfigDeps,
  lookup: (name: string) => string | undefined,
): Promise<Init<Mount>[]> {
  const { pod, container, podIps } = input;
  const { files, paths, clusterDomain } = deps;
  const mounts = await volumeMounts({
    pod,
    container,
    lookup,
    volumes: input.volumes,
    imageVolumes: input.imageVolumes,
    subpaths: deps.subpaths,
    recursiveReadOnlySupported: deps.recursiveReadOnlySupported(pod),
    imageVolumeProblem: deps.imageVolumeProblem?.(),
  });
  const extra = [
    await hostsFileMount({ pod, container, podIps, clusterDomain, files, paths }),
    await terminationMessageMount({
      container,
      files,
      unique: deps.uniqueName(),
      directory: containerDir(paths, podUid(pod), container.name),
    }),
  ];
  return [...mounts, ...extra.filter((mount) => mount !== undefined)];
}

/**
 * The configuration for CreateContainer. Rejects with ContainerConfigError while something that the pod refers to is
 * missing.
 */
export async function containerConfig(
  input: ContainerConfigInput,
  deps: ContainerConfigDeps,
): Promise<Init<ContainerConfig>> {
  const { pod, container, image } = input;
  const { uid, username } = image;
  const user = { imageUid: uid?.value, imageUsername: username };
  const refused = verifyRunAsNonRoot({ pod, container, ...user });
  if (refused !== undefined) throw new ContainerConfigError(refused);
  const devices = await deps.devices?.(pod, container);
  const { podIps } = input;
  const { sources } = deps;
  const environment = await makeEnvironment({ pod, container, podIps, sources, added: devices?.environment });
  const lookup = (name: string): string | undefined => environment.get(name);
  const target = input.targetId === undefined ? {} : { targetId: input.targetId };
  return {
    metadata: { name: container.name, attempt: input.restartCount },
    image: { image: input.imageRef, userSpecifiedImage: container.image ?? '' },
    command: expandAll(container.command, lookup),
    args: expandAll(container.args, lookup),
    workingDir: container.workingDir ?? '',
    envs: await environment.list(() => sources.pause()),
    labels: containerLabels(container, pod),
    annotations: containerAnnotations({
      container,
      pod,
      restartCount: input.restartCount,
      deviceAnnotations: devices?.annotations,
    }),
    mounts: mapped(
      [
        ...(await mountsOf(input, deps, lookup)),
        ...(devices?.mounts ?? []).map((mount) => ({
          hostPath: mount.hostPath,
          containerPath: mount.containerPath,
          readonly: mount.readOnly,
        })),
      ],
      input.userNamespace,
    ),
    devices: [...blockDevices(container, input.volumes), ...(devices?.devices ?? [])],
    CDIDevices: (devices?.cdiDevices ?? []).map((name) => ({ name })),
    logPath: containerLogPath(input),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    stopSignal: signalOf(container.lifecycle?.stopSignal),
    linux: {
      resources: {
        ...containerResources(pod, container, deps.resources),
        ...(devices?.withoutCpuQuota ? { cpuQuota: -1 } : {}),
        ...(devices?.cpusetCpus === undefined ? {} : { cpusetCpus: devices.cpusetCpus }),
        ...(devices?.cpusetMems === undefined ? {} : { cpusetMems: devices.cpusetMems }),
      },
      securityContext: withUserNamespace(
        containerSecurityContext({ pod, container, config: deps.security, ...user, ...target }),
        input.userNamespace,
      ),
    },
  };
}

function expandAll(texts: readonly string[] = [], lookup: (name: string) => string | undefined): string[] {
  let length = 0;
  return texts.map((text) => {
    const expanded = expandValue(text, lookup);
    length += expanded.length;
    if (length > MAX_EXPANDED_LENGTH)
      throw new ContainerConfigError(
        `the command has more than ${MAX_EXPANDED_LENGTH} characters, the most a message to the container runtime holds`,
      );
    return expanded;
  });
}

/** With id-mapped mounts, files have the same ids in the pod as on the host. */
function mapped(mounts: readonly Init<Mount>[], userNamespace: Init<UserNamespace> | undefined): Init<Mount>[] {
  const { uids, gids } = userNamespace ?? {};
  if (uids === undefined || gids === undefined) return [...mounts];
  return mounts.map((mount) => ({ ...mount, uidMappings: uids, gidMappings: gids }));
}
