/** A kubelet over a scripted runtime and a cluster in memory, on virtual time. */
import type { Pod } from '../api/gen/core-v1.ts';
import { Pods } from '../api/gen/resources.ts';
import { createFakeSockets, type FakeSockets } from '../grpc/grpc-connector-fixture.ts';
import { createSimPlatform, type SimPlatform } from '../platform/sim/sim-platform.ts';
import type { PodContainerManager } from './cgroups/pod-container-manager.ts';
import type { ContainerRuntime } from './container/runtime.ts';
import type { Kubelet, KubeletCore } from './kubelet-contract.ts';
import { createKubelet } from './kubelet.ts';
import { kubeletConfiguration, type KubeletConfiguration } from './kubelet-configuration.ts';
import { podUid } from './types/pod-update.ts';
import type { VolumeManager } from './volumes/volume-manager-contract.ts';
import { createFakeCluster, type FakeCluster } from './fake-cluster-fixture.ts';
import { createFakeRuntime, type FakeRuntime } from './fake-runtime-fixture.ts';

/** The parts. */
export interface KubeletFixture {
  readonly platform: SimPlatform;
  readonly cluster: FakeCluster;
  readonly runtime: FakeRuntime;
  readonly podContainers: PodContainerManager;
  /** Plugins, and who calls the kubelet's own sockets. */
  readonly sockets: FakeSockets;
  readonly kubelet: Kubelet;
  /** `Warning Unhealthy web: …` */
  readonly events: string[];
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Creates a pod bound to the node. */
  addPod(name: string, changes?: PodChanges): Pod;
  pod(name: string): Pod | undefined;
  /** Phase and readiness: `Running true`. */
  summary(name: string): string;
}

/** How a pod differs from one of a single container that asks for nothing. */
export interface PodChanges {
  readonly spec?: Partial<NonNullable<Pod['spec']>>;
  readonly metadata?: Pod['metadata'];
  /** As the API server would have found. Default BestEffort. */
  readonly qosClass?: string;
  /** Beside phase and class. */
  readonly status?: Pod['status'];
}

/** Volumes that are always there. */
export function createFakeVolumes(): VolumeManager {
  return {
    start: () => undefined,
    waitForAttachAndMount: async () => undefined,
    waitForUnmount: async () => undefined,
    mountedVolumes: () => new Map(),
    podHasVolumes: () => false,
    volumesInUse: () => [],
    volumeStats: async () => new Map(),
  };
}

/** Cgroups that are only names. */
export function createFakePodContainers(): PodContainerManager & { readonly uids: Set<string> } {
  const uids = new Set<string>();
  return {
    uids,
    start: async () => undefined,
    ensurePodCgroup: async (pod) => void uids.add(podUid(pod)),
    updatePodCgroup: async () => undefined,
    memoryRefusal: async () => undefined,
    podCgroupExists: async (pod) => uids.has(podUid(pod)),
    criParent: (pod) => `/kubepods/pod${podUid(pod)}`,
    destroyPodCgroup: async (uid) => void uids.delete(uid),
    podUids: async () => [...uids],
  };
}

/** What differs between fixtures. */
export interface KubeletFixtureOptions {
  readonly config?: Partial<KubeletConfiguration>;
  /** Keeps platform, cluster and runtime of another: the machine after a restart of its kubelet. */
  readonly beside?: KubeletFixture;
  readonly platform?: SimPlatform;
  /** Cgroups in place of names alone. */
  readonly podContainers?: PodContainerManager;
  /** A runtime manager in place of the scripted one. */
  readonly runtime?: (core: KubeletCore) => ContainerRuntime;
}

export function createKubeletFixture(options: KubeletFixtureOptions = {}): KubeletFixture {
  const platform = options.beside?.platform ?? options.platform ?? createSimPlatform();
  const cluster = options.beside?.cluster ?? createFakeCluster(platform.clock);
  const runtime = options.beside?.runtime ?? createFakeRuntime(platform.clock);
  const podContainers = options.podContainers ?? options.beside?.podContainers ?? createFakePodContainers();
  const sockets = options.beside?.sockets ?? createFakeSockets(platform.clock);
  const events: string[] = [];
  const controller = new AbortController();
  const kubelet = createKubelet(
    {
      platform,
      client: cluster.client,
      informers: cluster.informers,
      recorder: {
        event: (...[target, type, reason, message]) => {
          const name = 'metadata' in target ? target.metadata.name : (target as { name?: string }).name;
          events.push(`${type} ${reason} ${name}: ${message}`);
        },
      },
      podContainers,
      volumes: createFakeVolumes,
      runtime: options.runtime ?? (() => runtime),
      connectGrpc: sockets.connect,
      serveSocket: sockets.listen,
      preparePod: (pod) => pod,
    },
    kubeletConfiguration({ nodeName: 'node-1', rootDirectory: '/var/lib/kubelet', ...options.config }),
  );
  const pod = (name: string): Pod | undefined => cluster.get(Pods, { namespace: 'default', name });
  return {
    platform,
    cluster,
    runtime,
    podContainers,
    sockets,
    kubelet,
    events,
    pod,
    async start() {
      await platform.clock.drive(kubelet.start(controller.signal));
      await platform.clock.settle();
    },
    async stop() {
      await platform.clock.drive(kubelet.stop());
      await platform.clock.settle();
    },
    addPod(name, changes = {}) {
      return cluster.put(Pods, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { namespace: 'default', generation: 1, ...changes.metadata, name },
        spec: {
          nodeName: 'node-1',
          restartPolicy: 'Always',
          terminationGracePeriodSeconds: 30,
          containers: [{ name: 'app', image: 'image' }],
          ...changes.spec,
        },
        status: { phase: 'Pending', qosClass: changes.qosClass ?? 'BestEffort', ...changes.status },
      });
    },
    summary(name) {
      const status = pod(name)?.status;
      const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
      return `${status?.phase} ${ready}`;
    },
  };
}
