/** The runtime manager on a simulated platform and runtime, for tests beside it. */
import { noSteps } from '../../component-helpers/pod-trace/step-scope.ts';
import type { Container, Pod, Secret } from '../../api/gen/core-v1.ts';
import { notFound } from '../../api/status-error.ts';
import type { EventTarget } from '../../client/event-recorder.ts';
import type { CriRuntime } from '../../cri/runtime-service.ts';
import { createSimRuntime, type SimRuntime } from '../../cri/sim/sim-runtime.ts';
import type { SimRuntimeConfig } from '../../cri/sim/sim-state.ts';
import type { Platform } from '../../platform/platform.ts';
import { createSimPlatform, type SimPlatform } from '../../platform/sim/sim-platform.ts';
import type { ContainerRuntime, PodStatus, PodSyncResult, RuntimePod } from '../container/runtime.ts';
import type { ProbeResult, ProbeType } from '../prober/results.ts';
import type { MountedVolume } from '../volumes/volume-manager-contract.ts';
import { createContainerRuntime } from './container-runtime.ts';
import type { ContainerRuntimeConfig, ContainerRuntimeDeps } from './create-runtime-context.ts';

/** The answers of the dependencies; tests change them at run time. */
export interface FixtureWorld {
  readonly events: {
    readonly reason: string;
    readonly type: string;
    readonly message: string;
    readonly fieldPath?: string;
  }[];
  readonly configMaps: Map<string, Record<string, string>>;
  readonly secrets: Map<string, Secret>;
  readonly volumes: Map<string, MountedVolume>;
  readonly probes: Map<string, ProbeResult>;
  readonly deleted: Set<string>;
  /** Handlers of RuntimeClasses. */
  readonly handlers: Map<string, string>;
  services: ContainerRuntimeDeps['services'];
}

/** Dependencies over a world, for any platform and runtime. */
export function fixtureDeps(cri: CriRuntime, platform: Platform, world: FixtureWorld): ContainerRuntimeDeps {
  const missing = (resource: string, name: string) => notFound({ group: '', resource }, name);
  return {
    cri,
    platform,
    recorder: {
      event(target, type, reason, message) {
        const { fieldPath } = target as EventTarget;
        world.events.push({ reason, type, message, ...(fieldPath === undefined ? {} : { fieldPath }) });
      },
    },
    volumes: { mountedVolumes: () => world.volumes } as unknown as ContainerRuntimeDeps['volumes'],
    podContainers: {
      criParent: (pod: Pod) => `/kubepods/pod${pod.metadata.uid}`,
    } as ContainerRuntimeDeps['podContainers'],
    probeResults: { get: (type: ProbeType, id: string) => world.probes.get(`${type}/${id}`) },
    podStates: {
      shouldPodContentBeRemoved: (uid) => world.deleted.has(uid),
      shouldPodRuntimeBeRemoved: (uid) => world.deleted.has(uid),
    },
    services: () => world.services(),
    async runtimeHandler(name) {
      const handler = world.handlers.get(name);
      if (handler === undefined) throw missing('runtimeclasses', name);
      return handler;
    },
    async getConfigMap(namespace, name) {
      const data = world.configMaps.get(name);
      if (data === undefined) throw missing('configmaps', name);
      return { metadata: { name, namespace }, data };
    },
    async getSecret(_namespace, name) {
      const secret = world.secrets.get(name);
      if (secret === undefined) throw missing('secrets', name);
      return secret;
    },
  };
}

/** An empty world. */
export function createWorld(): FixtureWorld {
  return {
    events: [],
    configMaps: new Map(),
    secrets: new Map(),
    volumes: new Map(),
    probes: new Map(),
    deleted: new Set(),
    handlers: new Map(),
    services: () => [],
  };
}

/** Configuration under a directory. */
export function fixtureConfig(root: string): ContainerRuntimeConfig {
  return {
    rootDir: `${root}/kubelet`,
    podLogsDir: `${root}/logs/pods`,
    clusterDomain: 'cluster.local',
    clusterDns: ['10.96.0.10'],
    node: { nodeName: 'node-1', hostIps: ['10.0.0.1'], allocatable: { cpu: '2', memory: '4Gi' } },
    resources: { cgroupVersion: 2, memoryCapacityBytes: 4 * 2 ** 30, hugePageSizesBytes: [] },
  };
}

/** The manager on simulated ground. */
export interface RuntimeFixture {
  readonly platform: SimPlatform;
  readonly cri: SimRuntime;
  readonly runtime: ContainerRuntime;
  readonly world: FixtureWorld;
  /** Reads the status and syncs, moving virtual time as far as needed. */
  sync(pod: Pod): Promise<PodSyncResult>;
  status(pod: Pod): Promise<PodStatus>;
  drive<T>(work: Promise<T>): Promise<T>;
  /** `Reason: message` of events so far, and forgets them. */
  takeEvents(): string[];
}

export function createRuntimeFixture(
  sim: SimRuntimeConfig = {},
  config: Partial<ContainerRuntimeConfig> = {},
): RuntimeFixture {
  const platform = createSimPlatform();
  const { listeners } = platform.network;
  const cri = createSimRuntime(
    {
      ...platform,
      listen(address, port, handler) {
        const key = `${address}:${port}`;
        listeners.set(key, { http: handler });
        return () => void listeners.delete(key);
      },
    },
    sim,
  );
  const world = createWorld();
  const runtime = createContainerRuntime(fixtureDeps(cri, platform, world), { ...fixtureConfig('/var'), ...config });
  const drive = <T>(work: Promise<T>): Promise<T> => platform.clock.drive(work);
  const status = (pod: Pod): Promise<PodStatus> =>
    drive(runtime.getPodStatus(pod.metadata.uid!, pod.metadata.name!, pod.metadata.namespace!));
  return {
    platform,
    cri,
    runtime,
    world,
    drive,
    status,
    async sync(pod) {
      const podStatus = await status(pod);
      return drive(
        runtime.syncPod({
          trace: noSteps,
          pod,
          podStatus,
          pullSecrets: [...world.secrets.values()],
          signal: new AbortController().signal,
        }),
      );
    },
    takeEvents: () => world.events.splice(0).map(({ reason, message }) => `${reason}: ${message}`),
  };
}

/** A pod of these containers. */
export function podOf(
  spec: Partial<NonNullable<Pod['spec']>> & { containers: Container[] },
  metadata: Pod['metadata'] = {},
): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default', uid: 'uid-1', ...metadata },
    spec: { restartPolicy: 'Always', dnsPolicy: 'ClusterFirst', terminationGracePeriodSeconds: 30, ...spec },
  };
}

/** Names of the containers that run. */
export function runningNames({ cri }: RuntimeFixture): string[] {
  return [...cri.containers.values()]
    .filter(({ state }) => state === 'CONTAINER_RUNNING')
    .map(({ init }) => init.config.metadata!.name!);
}

export async function runningPod({ runtime, drive }: RuntimeFixture, pod: Pod): Promise<RuntimePod> {
  return (await drive(runtime.getPods(true))).find(({ uid }) => uid === pod.metadata.uid)!;
}
