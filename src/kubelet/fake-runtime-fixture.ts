/**
 * A scripted container runtime manager for tests of the kubelet's core: containers live in memory and take virtual time
 * to start and stop. It knows restart policies and one back-off, no images, volumes or probes.
 */
import { onAbort } from '../base/abort.ts';
import type { Container, Pod } from '../api/gen/core-v1.ts';
import { Channel } from '../base/channel.ts';
import type { Clock } from '../platform/clock.ts';
import { shouldContainerBeRestarted } from './container/helpers.ts';
import type {
  ContainerRuntime,
  ContainerStatus,
  PodStatus,
  PodSyncResult,
  RuntimeEvent,
  RuntimePod,
  SyncStep,
} from './container/runtime.ts';
import { podName, podNamespace, podUid } from './types/pod-update.ts';

/** How a container behaves. */
export interface ContainerScript {
  /** Exits by itself after so long; stays otherwise. */
  readonly exitAfterMs?: number;
  readonly exitCode?: number;
  /** Time it takes to obey a stop. Default 0. */
  readonly stopMs?: number;
}

/** A runtime with a look inside. */
export interface FakeRuntime extends ContainerRuntime {
  /** What was called, oldest first: `sync web`, `kill web 30`, `start web/app`. */
  readonly calls: string[];
  /** Behaviour by container name. */
  readonly scripts: Map<string, ContainerScript>;
  /** Thrown by the call of this name until removed. */
  readonly failures: Map<string, Error>;
  /** Whether the event stream works. */
  eventsWork: boolean;
  runtimeReady: boolean;
  networkReady: boolean;
  /** Containers that run, as `pod/container`. */
  running(): readonly string[];
  /** A pod that runs without the kubelet's doing. */
  plant(pod: Pod): void;
  /** Ends a container as if its process had exited. */
  exit(podUid: string, containerName: string, exitCode: number): void;
}

interface FakePod {
  readonly pod: Pod;
  sandboxReady: boolean;
  readonly sandboxId: string;
  readonly createdAtMs: number;
  containers: ContainerStatus[];
}

const START_MS = 40;
const BACK_OFF_MS = 10_000;

/** Makes an empty runtime. */
export function createFakeRuntime(clock: Clock): FakeRuntime {
  const pods = new Map<string, FakePod>();
  const streams = new Set<Channel<RuntimeEvent>>();
  const calls: string[] = [];
  const scripts = new Map<string, ContainerScript>();
  const failures = new Map<string, Error>();
  let nextId = 1;

  function fail(call: string): void {
    const error = failures.get(call);
    if (error !== undefined) throw error;
  }

  function emit(podUidOf: string, containerId: string, type: RuntimeEvent['type']): void {
    for (const stream of streams) stream.trySend({ podUid: podUidOf, containerId, type });
  }

  function change(fake: FakePod, id: string, changes: Partial<ContainerStatus>): void {
    fake.containers = fake.containers.map((container) =>
      container.id === id ? { ...container, ...changes } : container,
    );
  }

  function exit(fake: FakePod, id: string, exitCode: number): void {
    const container = fake.containers.find((candidate) => candidate.id === id);
    if (container?.state !== 'running') return;
    change(fake, id, {
      state: 'exited',
      exitCode,
      finishedAtMs: clock.nowMs(),
      reason: exitCode === 0 ? 'Completed' : 'Error',
    });
    emit(podUid(fake.pod), id, 'stopped');
  }

  async function start(fake: FakePod, container: Container, restartCount: number): Promise<void> {
    await clock.sleep(START_MS);
    const id = `c${nextId++}`;
    const now = clock.nowMs();
    const status: ContainerStatus = {
      id,
      name: container.name,
      state: 'running',
      createdAtMs: now,
      startedAtMs: now,
      finishedAtMs: 0,
      exitCode: 0,
      image: container.image ?? 'image',
      imageId: 'sha256:1',
      imageRef: 'sha256:1',
      hash: 'h',
      restartCount,
      reason: '',
      message: '',
      podSandboxId: fake.sandboxId,
    };
    fake.containers = [status, ...fake.containers];
    calls.push(`start ${podName(fake.pod)}/${container.name}`);
    emit(podUid(fake.pod), id, 'started');
    const script = scripts.get(container.name);
    if (script?.exitAfterMs !== undefined)
      clock.setTimer(script.exitAfterMs, () => exit(fake, id, script.exitCode ?? 0));
  }

  function statusOf(uid: string, name: string, namespace: string): PodStatus {
    const fake = pods.get(uid);
    const ips = fake?.sandboxReady === true ? ['10.42.0.7'] : [];
    return {
      uid,
      name,
      namespace,
      ips,
      containers: fake?.containers ?? [],
      sandboxes:
        fake === undefined
          ? []
          : [
              {
                id: fake.sandboxId,
                ready: fake.sandboxReady,
                attempt: 0,
                createdAtMs: fake.createdAtMs,
                ips,
                networkNamespace: 'pod',
              },
            ],
    };
  }

  function sandboxOf(pod: Pod): FakePod {
    const known = pods.get(podUid(pod));
    if (known?.sandboxReady === true) return known;
    const fake: FakePod = {
      pod,
      sandboxReady: true,
      sandboxId: `s${nextId++}`,
      createdAtMs: clock.nowMs(),
      containers: known?.containers ?? [],
    };
    pods.set(podUid(pod), fake);
    return fake;
  }

  /** The next containers to start: the first unfinished init container, or all regular ones. */
  function due(pod: Pod, status: PodStatus): readonly Container[] {
    for (const init of pod.spec?.initContainers ?? []) {
      const newest = status.containers.find(({ name }) => name === init.name);
      if (newest?.state === 'running') return [];
      if (newest === undefined || newest.exitCode !== 0) return [init];
    }
    return (pod.spec?.containers ?? []).filter((container) => shouldContainerBeRestarted(container, pod, status));
  }

  async function startOne(
    pod: Pod,
    container: Container,
    signal: AbortSignal,
  ): Promise<SyncStep & { retryAfterMs?: number }> {
    const fake = sandboxOf(pod);
    const last = fake.containers.find(({ name }) => name === container.name);
    const waitMs = last === undefined || last.restartCount === 0 ? 0 : last.finishedAtMs + BACK_OFF_MS - clock.nowMs();
    if (waitMs > 0) {
      const message = `back-off 10s restarting failed container=${container.name} pod=${podName(pod)}`;
      return {
        action: 'StartContainer',
        target: container.name,
        reason: 'CrashLoopBackOff',
        message,
        retryAfterMs: waitMs,
      };
    }
    signal.throwIfAborted();
    await start(fake, container, last === undefined ? 0 : last.restartCount + 1);
    return { action: 'StartContainer', target: container.name };
  }

  async function syncPod(pod: Pod, signal: AbortSignal): Promise<PodSyncResult> {
    calls.push(`sync ${podName(pod)}`);
    fail('syncPod');
    const uid = podUid(pod);
    const status = statusOf(uid, podName(pod), podNamespace(pod));
    const steps: (SyncStep & { retryAfterMs?: number })[] = [];
    if (pod.metadata.deletionTimestamp === undefined)
      for (const container of due(pod, status)) steps.push(await startOne(pod, container, signal));
    const waits = steps.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
    return {
      steps,
      ...(waits.length === 0 ? {} : { error: new Error('CrashLoopBackOff'), retryAfterMs: Math.min(...waits) }),
    };
  }

  async function killPod(
    runtimePod: RuntimePod,
    graceSeconds: number | undefined,
    signal: AbortSignal | undefined,
  ): Promise<PodSyncResult> {
    calls.push(`kill ${runtimePod.name} ${graceSeconds ?? 'default'}`);
    fail('killPod');
    const fake = pods.get(runtimePod.uid);
    if (fake === undefined) return { steps: [] };
    for (const container of fake.containers.filter(({ state }) => state === 'running')) {
      const stopMs = scripts.get(container.name)?.stopMs ?? 0;
      await clock.sleep(Math.min(stopMs, (graceSeconds ?? 30) * 1000), signal);
      exit(fake, container.id, stopMs > (graceSeconds ?? 30) * 1000 ? 137 : 0);
    }
    fake.sandboxReady = false;
    emit(runtimePod.uid, fake.sandboxId, 'stopped');
    return { steps: [] };
  }

  function runtimePodOf(fake: FakePod): RuntimePod {
    return {
      uid: podUid(fake.pod),
      name: podName(fake.pod),
      namespace: podNamespace(fake.pod),
      createdAtMs: fake.createdAtMs,
      containers: fake.containers.map(({ id, name, state, hash }) => ({ id, name, state, hash })),
      sandboxes: [{ id: fake.sandboxId, state: fake.sandboxReady ? 'running' : 'exited' }],
    };
  }

  const refuse = (): Promise<never> => Promise.reject(new Error('not in this fake'));
  const runtime: FakeRuntime = {
    calls,
    scripts,
    failures,
    eventsWork: true,
    runtimeReady: true,
    networkReady: true,
    running: () =>
      [...pods.values()].flatMap((fake) =>
        fake.containers.filter(({ state }) => state === 'running').map(({ name }) => `${podName(fake.pod)}/${name}`),
      ),
    plant(pod) {
      const fake = sandboxOf(pod);
      for (const container of pod.spec?.containers ?? []) {
        fake.containers = [
          {
            id: `c${nextId++}`,
            name: container.name,
            state: 'running',
            createdAtMs: clock.nowMs(),
            startedAtMs: clock.nowMs(),
            finishedAtMs: 0,
            exitCode: 0,
            image: 'image',
            imageId: 'sha256:1',
            imageRef: 'sha256:1',
            hash: 'h',
            restartCount: 0,
            reason: '',
            message: '',
            podSandboxId: fake.sandboxId,
          },
          ...fake.containers,
        ];
      }
    },
    exit(uid, containerName, exitCode) {
      const fake = pods.get(uid);
      const container = fake?.containers.find(({ name, state }) => name === containerName && state === 'running');
      if (fake !== undefined && container !== undefined) exit(fake, container.id, exitCode);
    },
    status: async () => {
      fail('status');
      const { runtimeReady, networkReady } = runtime;
      return {
        runtimeReady,
        networkReady,
        message: '',
        runtimeName: 'containerd',
        runtimeVersion: '1.6.20',
        runtimeHandlers: [{ name: '', features: {} }],
      };
    },
    async getPods(all) {
      fail('getPods');
      return [...pods.values()]
        .map(runtimePodOf)
        .filter(
          (pod) =>
            all || pod.sandboxes[0]?.state === 'running' || pod.containers.some(({ state }) => state === 'running'),
        );
    },
    async getPodStatus(uid, name, namespace) {
      fail('getPodStatus');
      return statusOf(uid, name, namespace);
    },
    syncPod: ({ pod, signal }) => syncPod(pod, signal),
    killPod: ({ runtimePod, gracePeriodSeconds, signal }) => killPod(runtimePod, gracePeriodSeconds, signal),
    forgetPod: (uid) => void pods.delete(uid),
    garbageCollect: async () => undefined,
    async deleteContainer(id) {
      calls.push(`delete ${id}`);
      for (const fake of pods.values()) fake.containers = fake.containers.filter((container) => container.id !== id);
    },
    execSync: refuse,
    execUrl: refuse,
    attachUrl: refuse,
    portForwardUrl: refuse,
    containerLogPath: refuse,
    checkpointContainer: async () => undefined,
    reopenContainerLog: refuse,
    images: async () => [],
    removeImage: refuse,
    updatePodCidr: async () => undefined,
    async updateCpuset(containerId, cpusetCpus) {
      calls.push(`cpus ${containerId} ${cpusetCpus}`);
    },
    async *events(signal) {
      if (!runtime.eventsWork) throw new Error('UNIMPLEMENTED');
      const stream = new Channel<RuntimeEvent>();
      streams.add(stream);
      onAbort(signal, () => stream.close());
      try {
        yield* stream;
      } finally {
        streams.delete(stream);
      }
    },
  };
  return runtime;
}
