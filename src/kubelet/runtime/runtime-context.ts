/** The context of the container runtime manager, which its operations share. */
import { errorMessage } from '../../base/errors.ts';
import type { EventTarget } from '../../client/event-recorder.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import type { ContainerResources } from '../allocation/resources.ts';
import type { ContainerStatus } from '../container/runtime.ts';
import type { CriRuntime } from '../../cri/runtime-service.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Files } from '../../platform/files.ts';
import type { Log } from '../../platform/log.ts';
import type { PodContainerManager } from '../cgroups/pod-container-manager.ts';
import type { ImageManager } from '../images/image-manager.ts';
import type { StartCounts } from '../metrics/start-counts.ts';
import type { HookRunner } from '../lifecycle/hooks.ts';
import type { ContainerEndings } from '../pod/container-endings.ts';
import type { DnsConfigurer } from '../network/dns.ts';
import type { ProbeResults } from '../prober/results.ts';
import type { VolumeManager } from '../volumes/volume-manager-contract.ts';
import type { ContainerConfigDeps } from './container-config.ts';
import type { CrashBackOff } from './crash-back-off.ts';
import type { LinuxResourceConfig } from './linux-resources.ts';
import type { RuntimePaths } from './paths.ts';
import { containerFieldPath } from './pod-facts.ts';
import type { PodStatusReader } from './pod-status.ts';
import type { Subpaths } from './subpath.ts';
import type { UserNamespaces } from './user-namespaces.ts';

/** The resources that containers were last configured with, recorded by the allocation manager. */
export interface ActuatedResources {
  actuated(status: ContainerStatus): ContainerResources | undefined;
  /** Pod-level resources; undefined: unknown. */
  actuatedPod(uid: string): ContainerResources | undefined;
  setActuatedPod(uid: string, resources: ContainerResources): Promise<void>;
  setActuated(uid: string, containerId: string, resources: ContainerResources): Promise<void>;
  /** Whether no step of the pod's resize is left. */
  isResizeComplete(uid: string): boolean;
  setResizeComplete(uid: string): Promise<void>;
}

/** Everything an operation may use. */
export interface RuntimeContext {
  readonly cri: CriRuntime;
  readonly clock: Clock;
  readonly files: Files;
  readonly log: Log;
  readonly recorder: KubeletEventRecorder;
  readonly images: ImageManager;
  readonly starts: StartCounts;
  readonly hooks: HookRunner;
  readonly dns: DnsConfigurer;
  readonly volumes: VolumeManager;
  readonly podContainers: PodContainerManager;
  readonly probeResults: ProbeResults;
  readonly reader: PodStatusReader;
  readonly subpaths: Subpaths;
  readonly crashBackOff: CrashBackOff;
  readonly userNamespaces: UserNamespaces;
  /** Absent: no container is resized in place. */
  readonly actuated?: ActuatedResources;
  /** preStop hooks in progress or done, by container id, until the container has stopped. */
  readonly preStops: Map<string, Promise<void>>;
  /** Containers that were killed because their postStart hook failed. */
  readonly endings: ContainerEndings;
  readonly containerConfig: ContainerConfigDeps;
  readonly paths: RuntimePaths;
  readonly resources: LinuxResourceConfig;
  readonly clusterDomain: string;
  /** The CRI handler of the pod's RuntimeClass; rejects when there is no such class. */
  runtimeHandler(pod: Pod): Promise<string>;
}

/** The target of events about one container of a pod. */
export function containerTarget(pod: Pod, container: Pick<Container, 'name'>): EventTarget {
  const { name, namespace, uid, resourceVersion } = pod.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    name,
    namespace,
    uid,
    resourceVersion,
    fieldPath: containerFieldPath(pod, container.name),
  };
}

/** The target of events about a pod. */
export function podTarget(pod: Pod): EventTarget {
  const { name, namespace, uid, resourceVersion } = pod.metadata;
  return { apiVersion: 'v1', kind: 'Pod', name, namespace, uid, resourceVersion };
}

/** The message of an error; for a CRI error only the runtime's own message, without call and code. */
export function runtimeErrorMessage(error: unknown): string {
  if (error instanceof Error && 'detail' in error && typeof error.detail === 'string') return error.detail;
  return errorMessage(error);
}
