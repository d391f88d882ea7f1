/**
 * Counts and times calls to the runtime, by upstream's names of them. Upstream: pkg/kubelet/kuberuntime/instrumented_services.go.
 * Streams are left as they are: they have no end to time.
 */
import { wrapMethods } from '../../base/wrap-methods.ts';
import type { CriRuntime } from '../../cri/runtime-service.ts';
import type { Platform } from '../../platform/platform.ts';

const OPERATIONS: Readonly<Record<string, string>> = {
  version: 'version',
  status: 'status',
  runPodSandbox: 'run_podsandbox',
  stopPodSandbox: 'stop_podsandbox',
  removePodSandbox: 'remove_podsandbox',
  podSandboxStatus: 'podsandbox_status',
  listPodSandbox: 'list_podsandbox',
  podSandboxStats: 'podsandbox_stats',
  listPodSandboxStats: 'list_podsandbox_stats',
  createContainer: 'create_container',
  startContainer: 'start_container',
  stopContainer: 'stop_container',
  removeContainer: 'remove_container',
  listContainers: 'list_containers',
  containerStatus: 'container_status',
  updateContainerResources: 'update_container',
  reopenContainerLog: 'reopen_container_log',
  containerStats: 'container_stats',
  listContainerStats: 'list_container_stats',
  checkpointContainer: 'checkpoint_container',
  execSync: 'exec_sync',
  exec: 'exec',
  attach: 'attach',
  portForward: 'port_forward',
  updateRuntimeConfig: 'update_runtime_config',
  listImages: 'list_images',
  imageStatus: 'image_status',
  pullImage: 'pull_image',
  removeImage: 'remove_image',
  imageFsInfo: 'image_fs_info',
};
const BUCKETS = Array.from({ length: 14 }, (_, index) => 0.005 * 2.5 ** index);
const labels = ['operation_type'];

/** The same runtime, whose calls are counted. */
export function countedRuntime(cri: CriRuntime, { clock, metrics }: Pick<Platform, 'clock' | 'metrics'>): CriRuntime {
  const total = metrics.counter({
    name: 'kubelet_runtime_operations_total',
    help: 'Cumulative number of runtime operations by operation type.',
    labels,
  });
  const errors = metrics.counter({
    name: 'kubelet_runtime_operations_errors_total',
    help: 'Cumulative number of runtime operation errors by operation type.',
    labels,
  });
  const durations = metrics.histogram({
    name: 'kubelet_runtime_operations_duration_seconds',
    help: 'Duration in seconds of runtime operations. Broken down by operation type.',
    labels,
    buckets: BUCKETS,
  });
  const counted = <T extends object>(service: T): T =>
    wrapMethods(service, (name, method) => {
      const operation = OPERATIONS[name];
      if (operation === undefined) return method;
      const of = { operation_type: operation };
      return async (...values) => {
        const startedMs = clock.monotonicMs();
        total.inc(of);
        try {
          return await method(...values);
        } catch (error) {
          errors.inc(of);
          throw error;
        } finally {
          durations.observe((clock.monotonicMs() - startedMs) / 1000, of);
        }
      };
    });
  return { ...cri, runtime: counted(cri.runtime), images: counted(cri.images) };
}
