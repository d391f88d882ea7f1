/**
 * Composes the container runtime manager over CRI. Upstream: pkg/kubelet/kuberuntime.
 *
 * Construction does no I/O and starts nothing; there is nothing to stop.
 */
import { deepEqual } from '../../base/equal.ts';
import { imageVolumeProblem } from './image-volumes.ts';
import type { StatusResponse, VersionResponse } from '../../cri/gen/cri-types.ts';
import type { ContainerRuntime, ContainerRuntimeStatus } from '../container/runtime.ts';
import { garbageCollect } from './garbage-collection.ts';
import { killPod } from './kill-pod.ts';
import { runtimeEvents } from './runtime-events.ts';
import { syncPod } from './apply-pod-actions.ts';
import { execSync } from './exec-sync.ts';
import {
  type ContainerRuntimeConfig,
  type ContainerRuntimeDeps,
  createContext,
  type Handlers,
} from './create-runtime-context.ts';

function streamingRequest<T extends object>(request: T & { readonly command?: readonly string[] }) {
  const { command, ...rest } = request;
  return command === undefined ? rest : { ...rest, cmd: command };
}

/**
 * The version is read again after this time, since the runtime may have been replaced; upstream reads it as often for
 * the node status.
 */
const VERSION_MS = 10_000;

/** Reads the runtime's status. While it does not change, the same object is returned. */
function createStatusReader(deps: ContainerRuntimeDeps, handlers: Handlers): () => Promise<ContainerRuntimeStatus> {
  const { runtime } = deps.cri;
  const { clock } = deps.platform;
  let last:
    | { readonly answers: readonly [VersionResponse, StatusResponse]; readonly read: ContainerRuntimeStatus }
    | undefined;
  let askedMs = Number.NEGATIVE_INFINITY;
  const read = async (): Promise<readonly [VersionResponse, StatusResponse]> => {
    if (last !== undefined && clock.monotonicMs() - askedMs < VERSION_MS)
      return [last.answers[0], await runtime.status({})];
    const answers = await Promise.all([runtime.version({}), runtime.status({})]);
    askedMs = clock.monotonicMs();
    return answers;
  };
  return async () => {
    const answers = await read();
    if (last === undefined || !deepEqual(last.answers, answers)) {
      recordHandlers(handlers, ...answers);
      last = { answers, read: runtimeStatus(...answers) };
    }
    return last.read;
  };
}

function recordHandlers(handlers: Handlers, version: VersionResponse, { runtimeHandlers }: StatusResponse): void {
  handlers.recursiveReadOnly = new Set(
    runtimeHandlers.filter((handler) => handler.features?.recursiveReadOnlyMounts).map((handler) => handler.name),
  );
  handlers.userNamespaces = new Set(
    runtimeHandlers.filter((handler) => handler.features?.userNamespaces).map((handler) => handler.name),
  );
  handlers.imageVolumeProblem = imageVolumeProblem(version.runtimeName, version.runtimeVersion);
}

function runtimeStatus(version: VersionResponse, { status, runtimeHandlers }: StatusResponse): ContainerRuntimeStatus {
  const condition = (type: string) => status?.conditions.find((candidate) => candidate.type === type);
  const bad = (status?.conditions ?? []).filter((candidate) => !candidate.status);
  return {
    runtimeReady: condition('RuntimeReady')?.status ?? false,
    networkReady: condition('NetworkReady')?.status ?? false,
    message: bad.map(({ type, reason, message }) => `${type}=false reason:${reason} message:${message}`).join(', '),
    runtimeName: version.runtimeName,
    runtimeVersion: version.runtimeVersion,
    runtimeHandlers: runtimeHandlers.map(({ name, features }) => ({
      name,
      features: {
        recursiveReadOnlyMounts: features?.recursiveReadOnlyMounts ?? false,
        userNamespaces: features?.userNamespaces ?? false,
      },
    })),
  };
}

export function createContainerRuntime(deps: ContainerRuntimeDeps, config: ContainerRuntimeConfig): ContainerRuntime {
  const { cri } = deps;
  const handlers: Handlers = { recursiveReadOnly: new Set(), userNamespaces: new Set(), imageVolumeProblem: undefined };
  const context = createContext(deps, config, handlers);
  const { runtime, images } = cri;
  return {
    status: createStatusReader(deps, handlers),
    getPods: (all) => context.reader.getPods(all),
    getPodStatus: (uid, name, namespace) => context.reader.getPodStatus(uid, name, namespace),
    syncPod: (request) => syncPod(request, context),
    killPod: (request) => killPod(request, context),
    restartDelayMs: (uid, containerName) => context.crashBackOff.delayOf(`${uid}/${containerName}/`),
    failedPulls: (uid) => context.images.failedPulls(uid),
    endings: (uid) => context.endings.ofPod(uid),
    forgetPod(uid) {
      context.reader.forgetPod(uid);
      context.images.forgetPod(uid);
      context.crashBackOff.forget(`${uid}/`);
      context.userNamespaces.forgetPod(uid);
    },
    garbageCollect: (policy, options) => garbageCollect({ policy, options, pods: deps.podStates }, context),
    async deleteContainer(containerId) {
      await runtime.removeContainer({ containerId });
    },
    execSync: (containerId, command, timeoutMs) => execSync(cri, { containerId, command, timeoutMs }),
    execUrl: async (request) => (await runtime.exec(streamingRequest(request))).url,
    attachUrl: async (request) => (await runtime.attach(request)).url,
    portForwardUrl: async ({ podSandboxId, ports }) => (await runtime.portForward({ podSandboxId, port: ports })).url,
    async containerLogPath(containerId) {
      return (await runtime.containerStatus({ containerId })).status?.logPath ?? '';
    },
    async reopenContainerLog(containerId) {
      await runtime.reopenContainerLog({ containerId });
    },
    async updateCpuset(containerId, cpusetCpus) {
      await runtime.updateContainerResources({ containerId, linux: { cpusetCpus }, annotations: {} });
    },
    async checkpointContainer(containerId, location, timeoutSeconds) {
      await runtime.checkpointContainer({ containerId, location, timeoutSeconds });
    },
    async images() {
      const list = (await images.listImages({})).images;
      return list.map(({ id, repoTags, repoDigests, size, pinned }) => ({
        id,
        repoTags,
        repoDigests,
        sizeBytes: size,
        pinned,
      }));
    },
    async removeImage(id) {
      await images.removeImage({ image: { image: id } });
    },
    async updatePodCidr(podCidr) {
      await runtime.updateRuntimeConfig({ runtimeConfig: { networkConfig: { podCidr } } });
    },
    events: (signal) => runtimeEvents(context, signal),
  };
}
