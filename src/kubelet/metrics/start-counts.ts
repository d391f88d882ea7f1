/** Counts started pods and containers, and failed starts. Upstream: SyncPod in pkg/kubelet/kuberuntime. */
import type { Metrics } from '../../platform/metrics.ts';

/** The kind of container. Upstream's values of `container_type`. */
export type StartedContainerType = 'container' | 'init_container' | 'ephemeral_container';

/** A failed start counts both as a start and as a failure. */
export interface StartCounts {
  pod(): void;
  podFailed(): void;
  container(type: StartedContainerType): void;
  /** `code`: the reason the container then waits for. */
  containerFailed(type: StartedContainerType, code: string): void;
}

export function createStartCounts(metrics: Metrics): StartCounts {
  const pods = metrics.counter({ name: 'kubelet_started_pods_total', help: 'Sandboxes the kubelet began to start.' });
  const podErrors = metrics.counter({
    name: 'kubelet_started_pods_errors_total',
    help: 'Sandboxes that could not be started.',
  });
  const containers = metrics.counter({
    name: 'kubelet_started_containers_total',
    help: 'Containers the kubelet began to start.',
    labels: ['container_type'],
  });
  const containerErrors = metrics.counter({
    name: 'kubelet_started_containers_errors_total',
    help: 'Containers that could not be started, by reason.',
    labels: ['container_type', 'code'],
  });
  return {
    pod: () => pods.inc(),
    podFailed: () => podErrors.inc(),
    container: (type) => containers.inc({ container_type: type }),
    containerFailed: (type, code) => containerErrors.inc({ container_type: type, code }),
  };
}
