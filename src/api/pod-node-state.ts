/**
 * The kubelet's state of a pod beyond the API objects: the times of retries, the responses of registries and probes, and volumes
 * that are not ready. The kubelet serves it, the API server forwards it, `keelson why` reads it. No counterpart upstream.
 */

/** The first segment of the kubelet's path for a pod's state; the namespace and name follow. */
export const POD_STATE_ROUTE = 'podState';

/**
 * The reason of a failed pull: the image does not exist, the credentials are insufficient, the registry limits the rate, or is
 * unreachable. `Unknown`: the runtime's error does not state it.
 */
export type PullErrorClass = 'NotFound' | 'Unauthorized' | 'RateLimited' | 'Network' | 'Unknown';

export interface FailedPull {
  readonly image: string;
  readonly errorClass: PullErrorClass;
  readonly message: string;
  /** RFC 3339, as all times of this file. */
  readonly failedAt: string;
  readonly nextTry: string;
}

/** A container that ended and whose restart is delayed by back-off. */
export interface HeldBackContainer {
  readonly name: string;
  readonly delaySeconds: number;
  readonly nextTry: string;
}

/** The last result of a probe. */
export interface ProbeAnswer {
  readonly container: string;
  readonly type: 'liveness' | 'readiness' | 'startup';
  readonly result: 'success' | 'failure' | 'unknown';
  readonly output: string;
  readonly at: string;
  /** The number of equal results in a row; the probe's threshold is compared with it. */
  readonly inRow: number;
  readonly threshold: number;
}

/**
 * The reason why the kubelet ended a container of a pod that continues: a probe reached its failure threshold, or the postStart
 * hook failed.
 */
export interface ContainerEnding {
  readonly container: string;
  /** The container's ID without the runtime's prefix that the status has. */
  readonly containerId: string;
  readonly reason: 'LivenessProbe' | 'StartupProbe' | 'PostStartHook';
  /** The output of the probe or hook. */
  readonly output: string;
  readonly at: string;
}

/** A volume that is not ready, or not yet unmounted. */
export interface AwaitedVolume {
  readonly name: string;
  /**
   * `process`: the volume cannot be processed, and waiting does not help. `unmount`: the pod has ended, and its volume is still
   * mounted.
   */
  readonly waitsFor: 'attach' | 'mount' | 'process' | 'unmount';
  readonly since: string;
  /** The error of the last attempt; absent before the first failure. */
  readonly error?: string | undefined;
}

export interface PodNodeState {
  readonly apiVersion: 'keelson/v1';
  readonly kind: 'PodNodeState';
  readonly uid: string;
  readonly heldBack: readonly HeldBackContainer[];
  readonly failedPulls: readonly FailedPull[];
  readonly probes: readonly ProbeAnswer[];
  /** The newest ending for each container and reason. */
  readonly endings: readonly ContainerEnding[];
  readonly volumes: readonly AwaitedVolume[];
}
