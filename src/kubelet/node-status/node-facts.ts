/**
 * The input of the node status, collected once per update: all I/O is here, the setters are pure. Upstream: the
 * getters passed to pkg/kubelet/nodestatus setters.
 */
import type { Platform } from '../../platform/platform.ts';
import type { FileSystemStat } from '../../platform/files.ts';
import type { HostInfo } from '../../platform/host.ts';
import type { ContainerRuntime, ContainerRuntimeStatus, NodeImage } from '../container/runtime.ts';
import type { DeviceCapacity } from '../device-manager/device-inventory.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';

/** The node's pressures, from the eviction manager. */
export interface NodePressure {
  readonly memory: boolean;
  readonly disk: boolean;
  readonly pid: boolean;
}

/** A snapshot of the node. */
export interface NodeFacts {
  readonly config: KubeletConfiguration;
  readonly nowMs: number;
  readonly nodeIps: readonly string[];
  readonly host: HostInfo;
  readonly rootFs: FileSystemStat | undefined;
  /** Undefined when the runtime does not answer. */
  readonly runtime: ContainerRuntimeStatus | undefined;
  readonly images: readonly NodeImage[];
  /** Undefined: unknown yet. */
  readonly volumesInUse: readonly string[] | undefined;
  readonly runtimeErrors: readonly string[];
  readonly networkErrors: readonly string[];
  readonly pressure: NodePressure;
  /** Extended resources of device plugins. */
  readonly devices: DeviceCapacity;
}

export interface NodeFactsDeps {
  readonly platform: Platform;
  readonly runtime: ContainerRuntime;
  readonly nodeIps: () => readonly string[];
  readonly volumesInUse: () => readonly string[] | undefined;
  readonly runtimeErrors: () => readonly string[];
  readonly networkErrors: () => readonly string[];
  readonly pressure: () => NodePressure;
  readonly devices: () => DeviceCapacity;
}

async function orUndefined<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch {
    return undefined;
  }
}

/**
 * Collects a snapshot. Parts that cannot be read are absent; the setters leave them out, and the Ready condition has
 * the reason.
 */
export async function collectNodeFacts(deps: NodeFactsDeps, config: KubeletConfiguration): Promise<NodeFacts> {
  const { platform } = deps;
  const [host, rootFs, runtime, images] = await Promise.all([
    platform.host.info(),
    orUndefined(platform.files.statFileSystem(config.rootDirectory)),
    orUndefined(deps.runtime.status()),
    orUndefined(deps.runtime.images()),
  ]);
  return {
    config,
    nowMs: platform.clock.nowMs(),
    nodeIps: deps.nodeIps(),
    host,
    rootFs,
    runtime,
    images: images ?? [],
    volumesInUse: deps.volumesInUse(),
    runtimeErrors: [...deps.runtimeErrors()],
    networkErrors: [...deps.networkErrors()],
    pressure: deps.pressure(),
    devices: deps.devices(),
  };
}
