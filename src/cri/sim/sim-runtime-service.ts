/** The runtime service of the simulated runtime. */
import type { CriRuntimeService, StatusResponse, VersionResponse } from '../gen/cri-types.ts';
import { containerCalls } from './sim-container-calls.ts';
import { forwardUrl } from './sim-http.ts';
import { containerOf, withLabels, labelsOfContainer, unimplemented } from './sim-runtime-lookup.ts';
import { sandboxCalls } from './sim-sandbox-calls.ts';
import type { SimState } from './sim-state.ts';
import { containerStats } from './sim-status.ts';
import { attachUrl, execUrl } from './sim-stream-urls.ts';

const VERSION: VersionResponse = {
  version: '0.1.0',
  runtimeName: 'simulated',
  runtimeVersion: '1.0.0',
  runtimeApiVersion: 'v1',
};

/** Built once, since kubelets ask every few seconds. */
function runtimeStatus({ config }: SimState, networkReady: boolean): StatusResponse {
  const why = networkReady
    ? { reason: '', message: '' }
    : { reason: 'NetworkPluginNotReady', message: 'Network plugin returns error: cni plugin not initialized' };
  const conditions = [
    { type: 'RuntimeReady', status: true, reason: '', message: '' },
    { type: 'NetworkReady', status: networkReady, ...why },
  ];
  const features = { recursiveReadOnlyMounts: false, userNamespaces: config.userNamespaces ?? false };
  return { status: { conditions }, info: {}, runtimeHandlers: [{ name: '', features }] };
}

export function createSimRuntimeService(state: SimState): CriRuntimeService {
  const { clock } = state.deps;
  const ready = runtimeStatus(state, true);
  const unready = runtimeStatus(state, false);
  return {
    ...sandboxCalls(state),
    ...containerCalls(state),
    version: async () => VERSION,
    status: async () => (state.config.networkReady !== false && state.network.podCidr !== undefined ? ready : unready),
    async updateRuntimeConfig({ runtimeConfig }) {
      const podCidr = runtimeConfig?.networkConfig?.podCidr;
      if (podCidr && state.config.networkReady === 'with-range') state.network.podCidr = podCidr;
      return {};
    },
    runtimeConfig: async () => ({ linux: { cgroupDriver: 'CGROUPFS' } }),
    updatePodSandboxResources: async () => ({}),
    containerStats: async ({ containerId }) => ({
      stats: containerStats(containerOf(state, containerId), clock.nowMs()),
    }),
    async listContainerStats({ filter = {} }) {
      const all = withLabels(state.containers.values(), labelsOfContainer, filter.labelSelector).filter(
        ({ init }) =>
          (!filter.id || init.id === filter.id) && (!filter.podSandboxId || init.sandboxId === filter.podSandboxId),
      );
      return { stats: all.map((container) => containerStats(container, clock.nowMs())) };
    },
    exec: async (request) => ({ url: execUrl(state, request) }),
    attach: async (request) => ({ url: attachUrl(state, request) }),
    portForward: async (request) => ({ url: forwardUrl(state, request) }),
    podSandboxStats: async () => unimplemented('PodSandboxStats'),
    listPodSandboxStats: async () => unimplemented('ListPodSandboxStats'),
    checkpointContainer: async () => unimplemented('CheckpointContainer'),
    listMetricDescriptors: async () => unimplemented('ListMetricDescriptors'),
    listPodSandboxMetrics: async () => unimplemented('ListPodSandboxMetrics'),
    streamPodSandboxes: () => unimplementedStream('StreamPodSandboxes'),
    streamContainers: () => unimplementedStream('StreamContainers'),
    streamContainerStats: () => unimplementedStream('StreamContainerStats'),
    streamPodSandboxStats: () => unimplementedStream('StreamPodSandboxStats'),
    streamPodSandboxMetrics: () => unimplementedStream('StreamPodSandboxMetrics'),
    getContainerEvents: () => unimplementedStream('GetContainerEvents'),
  };
}

/** A stream that fails at its first value. */
function unimplementedStream(method: string): AsyncIterable<never> {
  return { [Symbol.asyncIterator]: () => ({ next: async () => unimplemented(method) }) };
}
