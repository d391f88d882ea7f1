/**
 * Reports to monitoring agents which devices, CPUs and memory containers have: `pod-resources/kubelet.sock` in the
 * kubelet's directory. Upstream: pkg/kubelet/apis/podresources. Missing: v1alpha1.
 */
import { sidecarsOf } from '../../api/pod-containers.ts';
import { onAbort } from '../../base/abort.ts';
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { createTokenBucket } from '../../client/rate-limiter.ts';
import { GrpcError } from '../../grpc/grpc-error.ts';
import type { SocketServer } from '../../grpc/socket-server.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Files } from '../../platform/files.ts';
import type { Log } from '../../platform/log.ts';
import type { CpuManager } from '../cpu-manager/cpu-manager.ts';
import type { DeviceInventory } from '../device-manager/device-inventory.ts';
import type { DeviceManager } from '../device-manager/device-manager.ts';
import type { DraManager } from '../dra-manager/dra-manager.ts';
import type { MemoryManager } from '../memory-manager/memory-manager.ts';
import type { MemoryBlock } from '../memory-manager/memory-blocks.ts';
import { podName, podNamespace, podUid } from '../types/pod-update.ts';
import {
  podResourcesTable,
  type ContainerDevicesMessage,
  type ContainerMemoryMessage,
  type NodesOf,
} from './pod-resources-api.ts';

/** Calls of all clients together, as upstream. */
const CALL_RATE = { perSecond: 100, burst: 10 } as const;

export interface PodResourcesDeps {
  readonly clock: Clock;
  readonly files: Files;
  readonly log: Log;
  readonly serve: SocketServer;
  /** Pods that hold resources. */
  readonly pods: () => readonly Pod[];
  readonly inventory: DeviceInventory;
  readonly devices: Pick<DeviceManager, 'podDevices'>;
  readonly cpu: Pick<CpuManager, 'exclusiveCpus' | 'allocatable'> | undefined;
  readonly memory: Pick<MemoryManager, 'blocksOf' | 'allocatable'> | undefined;
  readonly dra: Pick<DraManager, 'claimResources'>;
}

/** Serves until the signal aborts; resolves when it listens. */
export async function startPodResourcesServer(
  deps: PodResourcesDeps,
  directory: string,
  signal: AbortSignal,
): Promise<void> {
  await deps.files.makeDir(directory, { mode: 0o750 });
  const bucket = createTokenBucket(deps.clock, CALL_RATE);
  const checkRate = (): void => {
    if (!bucket.tryTake()) throw new GrpcError('ResourceExhausted', 'rejected by rate limit');
  };
  const server = await deps.serve(`${directory}/kubelet.sock`, [podResourcesTable], {
    'v1.PodResourcesLister/List': async () => {
      checkRate();
      const podResources: object[] = [];
      for (const pod of deps.pods()) {
        await deps.clock.turn();
        podResources.push(resourcesOf(pod, deps));
      }
      return { podResources };
    },
    'v1.PodResourcesLister/Get': ({ podName: name, podNamespace: namespace }: PodKey) => {
      checkRate();
      const pod = deps.pods().find((each) => podName(each) === name && podNamespace(each) === namespace);
      if (pod === undefined) throw new GrpcError('Unknown', `pod ${name} in namespace ${namespace} not found`);
      return { podResources: resourcesOf(pod, deps) };
    },
    'v1.PodResourcesLister/GetAllocatableResources': () => {
      checkRate();
      return {
        devices: allocatableDevices(deps.inventory),
        cpuIds: deps.cpu?.allocatable() ?? [],
        memory: (deps.memory?.allocatable() ?? []).map(memoryMessage),
      };
    },
  });
  const close = (): void => {
    server.close().catch((error: unknown) => deps.log.error('cannot close the pod resources socket', { err: error }));
  };
  if (signal.aborted) close();
  else onAbort(signal, close);
}

interface PodKey {
  readonly podName: string;
  readonly podNamespace: string;
}

function resourcesOf(pod: Pod, deps: PodResourcesDeps): object {
  const sidecars = sidecarsOf(pod.spec);
  return {
    name: podName(pod),
    namespace: podNamespace(pod),
    containers: [...sidecars, ...(pod.spec?.containers ?? [])].map((container) =>
      containerMessage(pod, container, deps),
    ),
  };
}

function containerMessage(pod: Pod, container: Container, { devices, cpu, memory, dra }: PodResourcesDeps): object {
  const [uid, { name }] = [podUid(pod), container];
  return {
    name,
    devices: [...devices.podDevices.ofContainer(uid, name)].flatMap(([resourceName, { ids, nodes }]) =>
      ids.map((id) => deviceMessage(resourceName, id, nodes[id] ?? [])),
    ),
    cpuIds: cpu?.exclusiveCpus(uid, name) ?? [],
    memory: (memory?.blocksOf(uid, name) ?? []).map(memoryMessage),
    dynamicResources: dra.claimResources(pod, container).map(({ claim, devices: own }) => ({
      claimName: claim.name,
      claimNamespace: claim.namespace,
      claimResources: own.map(({ driverName, poolName, deviceName, cdiDeviceIds }) => ({
        cdiDevices: cdiDeviceIds.map((id) => ({ name: id })),
        driverName,
        poolName,
        deviceName,
      })),
    })),
  };
}

function allocatableDevices(inventory: DeviceInventory): ContainerDevicesMessage[] {
  return inventory.resources().flatMap((resource) => {
    const known = inventory.devices(resource);
    return [...inventory.healthy(resource)].map((id) =>
      deviceMessage(
        resource,
        id,
        (known.get(id)?.topology?.nodes ?? []).map(({ ID }) => ID),
      ),
    );
  });
}

function deviceMessage(resourceName: string, id: string, nodes: readonly number[]): ContainerDevicesMessage {
  return { resourceName, deviceIds: [id], ...(nodes.length === 0 ? {} : on(nodes)) };
}

function memoryMessage({ type, size, numaAffinity }: MemoryBlock): ContainerMemoryMessage {
  return { memoryType: type, size, ...on(numaAffinity) };
}

function on(nodes: readonly number[]): NodesOf {
  return { topology: { nodes: nodes.map((ID) => ({ ID })) } };
}
