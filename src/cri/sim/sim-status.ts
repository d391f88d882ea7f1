/** Statuses and list entries of the simulated runtime's sandboxes and containers. */
import type { Container, ContainerStats, ContainerStatus, PodSandbox, PodSandboxStatus } from '../gen/cri-types.ts';
import type { SimContainer } from './sim-container.ts';
import type { SimSandbox } from './sim-sandbox.ts';

/** A sandbox as ListPodSandbox returns it. */
export function describeSandbox(sandbox: SimSandbox): PodSandbox {
  const { config, id, createdAtMs, ready, runtimeHandler } = sandbox;
  const { name = '', namespace = '', uid = '', attempt = 0 } = config.metadata ?? {};
  return {
    id,
    createdAtMs,
    runtimeHandler,
    metadata: { name, namespace, uid, attempt },
    state: ready ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY',
    labels: config.labels ?? {},
    annotations: config.annotations ?? {},
  };
}

/** A sandbox's status. */
export function sandboxStatus(sandbox: SimSandbox): PodSandboxStatus {
  return {
    ...describeSandbox(sandbox),
    network: { ip: sandbox.ip, additionalIps: [] },
    linux: {
      namespaces: {
        options: { network: sandbox.hostNetwork ? 'NODE' : 'POD', pid: 'CONTAINER', ipc: 'POD', targetId: '' },
      },
    },
  };
}

function imageSpec(name: string) {
  return { image: name, annotations: {}, userSpecifiedImage: name, runtimeHandler: '', imageRef: '' };
}

/** A container as ListContainers returns it. */
export function describeContainer(container: SimContainer): Container {
  const { id, sandboxId, config, image, imageId } = container.init;
  return {
    id,
    podSandboxId: sandboxId,
    metadata: { name: config.metadata?.name ?? '', attempt: config.metadata?.attempt ?? 0 },
    image: imageSpec(image.name),
    imageRef: imageId,
    imageId,
    state: container.state,
    createdAtMs: container.createdAtMs,
    labels: config.labels ?? {},
    annotations: config.annotations ?? {},
  };
}

/** A container's status. */
export function containerStatus(container: SimContainer): ContainerStatus {
  const { config, logPath } = container.init;
  const { podSandboxId: _, ...base } = describeContainer(container);
  return {
    ...base,
    logPath,
    startedAtMs: container.startedAtMs,
    finishedAtMs: container.finishedAtMs,
    exitCode: container.exitCode,
    reason: container.reason,
    message: '',
    stopSignal: config.stopSignal ?? 'RUNTIME_DEFAULT',
    mounts: (config.mounts ?? []).map((mount) => ({
      containerPath: mount.containerPath ?? '',
      hostPath: mount.hostPath ?? '',
      readonly: mount.readonly ?? false,
      selinuxRelabel: false,
      propagation: mount.propagation ?? 'PROPAGATION_PRIVATE',
      uidMappings: [],
      gidMappings: [],
      recursiveReadOnly: false,
      imageSubPath: '',
    })),
  };
}

/** A running container's resource usage, as its image describes it. */
export function containerStats(container: SimContainer, nowMs: number): ContainerStats {
  const { id, config } = container.init;
  const usage = container.state === 'CONTAINER_RUNNING' ? container.usage() : undefined;
  const value = (amount: number) => ({ value: amount });
  return {
    attributes: {
      id,
      metadata: { name: config.metadata?.name ?? '', attempt: config.metadata?.attempt ?? 0 },
      labels: config.labels ?? {},
      annotations: config.annotations ?? {},
    },
    ...(usage !== undefined
      ? {
          cpu: {
            timestampMs: nowMs,
            usageCoreNanoSeconds: value(usage.cpuNanoSeconds),
            usageNanoCores: value(usage.nanoCores),
          },
          memory: {
            timestampMs: nowMs,
            workingSetBytes: value(usage.memoryBytes),
            availableBytes: value(0),
            usageBytes: value(usage.memoryBytes),
            rssBytes: value(Math.round(usage.memoryBytes * 0.8)),
            pageFaults: value(0),
            majorPageFaults: value(0),
          },
        }
      : {}),
    writableLayer: { timestampMs: nowMs, usedBytes: value(4096), inodesUsed: value(1) },
  };
}
