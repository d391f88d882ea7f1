/**
 * What the kubelet knows of a pod and no object tells: when it tries again, what a registry or a probe answered, which volumes
 * it waits for. The kubelet serves it, the API server hands it out, `keelson why` reads it. No counterpart upstream.
 */

/** The first segment of the path at which a kubelet serves the state of a pod; the namespace and name follow. */
export const POD_STATE_ROUTE = 'podState';

/**
 * Why an image could not be pulled: there is none of the name, the credentials do not suffice, the registry limits the rate, the
 * registry is out of reach. `Unknown`: the runtime does not say.
 */
export type PullErrorClass = 'NotFound' | 'Unauthorized' | 'RateLimited' | 'Network' | 'Unknown';

export interface FailedPull {
  readonly image: string;
  readonly errorClass: PullErrorClass;
  readonly message: string;
  /** RFC 3339, as all times here. */
  readonly failedAt: string;
  readonly nextTry: string;
}

/** A container that ended and is held back. */
export interface HeldBackContainer {
  readonly name: string;
  readonly delaySeconds: number;
  readonly nextTry: string;
}

/** The last answer to a probe. */
export interface ProbeAnswer {
  readonly container: string;
  readonly type: 'liveness' | 'readiness' | 'startup';
  readonly result: 'success' | 'failure' | 'unknown';
  readonly output: string;
  readonly at: string;
  /** The number of equal results in a row, and the threshold they are counted against. */
  readonly inRow: number;
  readonly threshold: number;
}

/** Why the kubelet ended a container of a pod that goes on: a probe has failed often enough, or the hook after its start. */
export interface ContainerEnding {
  readonly container: string;
  /** As in the container's status, without the name of the runtime. */
  readonly containerId: string;
  readonly reason: 'LivenessProbe' | 'StartupProbe' | 'PostStartHook';
  /** What the probe or the hook answered last. */
  readonly output: string;
  readonly at: string;
}

/** A volume that is not ready, or not gone yet. */
export interface AwaitedVolume {
  readonly name: string;
  /** `process`: it cannot be processed, and no waiting helps. `unmount`: the pod has ended, and its volume is still mounted. */
  readonly waitsFor: 'attach' | 'mount' | 'process' | 'unmount';
  readonly since: string;
  /** The error of the last try; absent before the first failed. */
  readonly error?: string | undefined;
}

export interface PodNodeState {
  readonly apiVersion: 'keelson/v1';
  readonly kind: 'PodNodeState';
  readonly uid: string;
  readonly heldBack: readonly HeldBackContainer[];
  readonly failedPulls: readonly FailedPull[];
  readonly probes: readonly ProbeAnswer[];
  /** The newest of each container and reason. */
  readonly endings: readonly ContainerEnding[];
  readonly volumes: readonly AwaitedVolume[];
}
