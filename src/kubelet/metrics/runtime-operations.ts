/**
 * Counts and times the calls to the container runtime, in the one place that all calls pass. Upstream:
 * pkg/kubelet/kuberuntime/instrumented_services.go. Streams (events) are not counted.
 */
import { wrapMethods } from '../../base/wrap-methods.ts';
import type { CriImageService, CriRuntimeService } from '../../cri/gen/cri-types.ts';
import type { CriRuntime } from '../../cri/runtime-service.ts';
import type { Platform } from '../../platform/platform.ts';

/** Upstream's operation names, where they differ from the method's name in snake case. */
const OPERATIONS: Readonly<Partial<Record<keyof CriRuntimeService | keyof CriImageService, string>>> = {
  runPodSandbox: 'run_podsandbox',
  stopPodSandbox: 'stop_podsandbox',
  removePodSandbox: 'remove_podsandbox',
  podSandboxStatus: 'podsandbox_status',
  listPodSandbox: 'list_podsandbox',
  podSandboxStats: 'podsandbox_stats',
  listPodSandboxStats: 'list_podsandbox_stats',
  listPodSandboxMetrics: 'list_podsandbox_metrics',
  updatePodSandboxResources: 'update_podsandbox_resources',
  updateContainerResources: 'update_container',
};

/** 5 ms to 12 minutes, as upstream. */
const BUCKETS = Array.from({ length: 14 }, (_, index) => 0.005 * 2.5 ** index);

interface Operations {
  /** Returns a function that records the end of a call of this method. */
  of(method: string): (seconds: number, failed: boolean) => void;
  sandbox(handler: string, seconds: number, failed: boolean): void;
}

/** The same runtime with measurement. A call that its caller aborts counts as failed. */
export function measureRuntime(cri: CriRuntime, platform: Pick<Platform, 'clock' | 'metrics'>): CriRuntime {
  const { clock } = platform;
  const operations = createOperations(platform);
  const measure = <T extends object>(service: T): T =>
    wrapMethods(service, (name, method) => {
      const note = operations.of(name);
      return (...args) => {
        const startMs = clock.monotonicMs();
        const result = method(...args);
        if (!(result instanceof Promise)) return result;
        const end = (failed: boolean): void => {
          const seconds = (clock.monotonicMs() - startMs) / 1000;
          note(seconds, failed);
          if (name === 'runPodSandbox') operations.sandbox(handlerOf(args[0]), seconds, failed);
        };
        result.then(
          () => end(false),
          () => end(true),
        );
        return result;
      };
    });
  return { runtime: measure(cri.runtime), images: measure(cri.images), events: (signal) => cri.events(signal) };
}

function handlerOf(request: unknown): string {
  return (request as { readonly runtimeHandler?: string }).runtimeHandler ?? '';
}

/** `listContainers` → `list_containers`. */
function operationOf(method: string): string {
  const operation = (OPERATIONS as Readonly<Record<string, string | undefined>>)[method];
  return operation ?? method.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function createOperations({ metrics }: Pick<Platform, 'metrics'>): Operations {
  const labels = ['operation_type'];
  const total = metrics.counter({
    name: 'kubelet_runtime_operations_total',
    help: 'Calls of the container runtime, by operation.',
    labels,
  });
  const errors = metrics.counter({
    name: 'kubelet_runtime_operations_errors_total',
    help: 'Calls of the container runtime that failed, by operation.',
    labels,
  });
  const duration = metrics.histogram({
    name: 'kubelet_runtime_operations_duration_seconds',
    help: 'Time of calls of the container runtime, by operation.',
    labels,
    buckets: BUCKETS,
  });
  const sandboxes = metrics.histogram({
    name: 'kubelet_run_podsandbox_duration_seconds',
    help: 'Time to run a sandbox, by handler of the runtime class.',
    labels: ['runtime_handler'],
  });
  const sandboxErrors = metrics.counter({
    name: 'kubelet_run_podsandbox_errors_total',
    help: 'Sandboxes that could not be run, by handler of the runtime class.',
    labels: ['runtime_handler'],
  });
  return {
    of(method) {
      const type = { operation_type: operationOf(method) };
      return (seconds, failed) => {
        total.inc(type);
        duration.observe(seconds, type);
        if (failed) errors.inc(type);
      };
    },
    sandbox(handler, seconds, failed) {
      sandboxes.observe(seconds, { runtime_handler: handler });
      if (failed) sandboxErrors.inc({ runtime_handler: handler });
    },
  };
}
