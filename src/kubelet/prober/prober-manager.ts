/**
 * Keeps one worker per container and probe, and puts their results into pod statuses. Upstream:
 * pkg/kubelet/prober/prober_manager.go.
 */
import type { Container, ContainerStatus, Pod, PodStatus, Probe } from '../../api/gen/core-v1.ts';
import { isRestartableInitContainer } from '../container/restart-policy.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import { podName, podNamespace, podUid } from '../types/pod-update.ts';
import { probePeriod } from './probe-period.ts';
import type { Prober } from './prober.ts';
import type { ResultsManager } from './results-manager.ts';
import type { ProbeType } from './results.ts';
import { bareContainerId, startProbeWorker, type ProbeWorker } from './worker.ts';

export interface ProbeManager {
  /** Starts the workers of a pod's probes; those that run already go on. */
  addPod(pod: Pod): void;
  /** A pod that ends is only asked for readiness. */
  stopLivenessAndStartup(pod: Pod): void;
  removePod(pod: Pod): void;
  /** Stops the workers of all pods but these. */
  cleanupPods(desired: ReadonlySet<string>): void;
  /** `status` with `ready` and `started` as the probes have it. */
  updatePodStatus(pod: Pod, status: PodStatus): PodStatus;
  stop(): void;
}

export interface ProbeManagerDeps {
  readonly platform: BasePlatform;
  readonly prober: Prober;
  readonly recorder: KubeletEventRecorder;
  readonly results: ResultsManager;
  readonly podStatus: (uid: string) => PodStatus | undefined;
  readonly podByUid: (uid: string) => Pod | undefined;
}

const TYPES: readonly {
  readonly type: ProbeType;
  readonly field: 'livenessProbe' | 'readinessProbe' | 'startupProbe';
}[] = [
  { type: 'startup', field: 'startupProbe' },
  { type: 'readiness', field: 'readinessProbe' },
  { type: 'liveness', field: 'livenessProbe' },
];

/** Containers that may be probed: regular ones and sidecars. */
function probedContainers(pod: Pod): readonly Container[] {
  return [...(pod.spec?.initContainers ?? []).filter(isRestartableInitContainer), ...(pod.spec?.containers ?? [])];
}

/** What upstream calls the probes in its metrics. */
const METRIC_TYPES: Readonly<Record<ProbeType, string>> = {
  liveness: 'Liveness',
  readiness: 'Readiness',
  startup: 'Startup',
};

/** Makes a manager. Its start counts as the kubelet's. */
export function createProbeManager(deps: ProbeManagerDeps): ProbeManager {
  const { clock } = deps.platform;
  const log = deps.platform.log.child('prober');
  const random = deps.platform.random.fork('prober');
  const startedAtMs = clock.nowMs();
  const probeTotal = deps.platform.metrics.counter({
    name: 'prober_probe_total',
    help: 'Cumulative number of a liveness, readiness or startup probe for a container by result.',
    labels: ['probe_type', 'result', 'container', 'pod', 'namespace', 'pod_uid'],
  });
  /** By pod uid, then `container/type`. */
  const workers = new Map<string, Map<string, ProbeWorker>>();

  function startWorker(pod: Pod, container: Container, probe: { type: ProbeType; spec: Probe }): void {
    const uid = podUid(pod);
    const ofPod = workers.get(uid) ?? new Map<string, ProbeWorker>();
    workers.set(uid, ofPod);
    const key = `${container.name}/${probe.type}`;
    if (ofPod.has(key)) return;
    const { problem } = probePeriod(pod, probe.type, probe.spec);
    if (problem !== undefined) deps.recorder.event(pod, 'Warning', 'ProbeWarning', problem);
    const labels = {
      probe_type: METRIC_TYPES[probe.type],
      container: container.name,
      pod: podName(pod),
      namespace: podNamespace(pod),
      pod_uid: uid,
    };
    const worker = startProbeWorker(
      {
        clock,
        log,
        prober: deps.prober,
        results: deps.results,
        podStatus: () => deps.podStatus(uid),
        currentPod: () => deps.podByUid(uid) ?? pod,
        startedAtMs,
        random: () => random.next(),
        onEnd: () => remove(uid, key),
        count: (result) => probeTotal.inc({ ...labels, result: result === 'success' ? 'successful' : 'failed' }),
      },
      { container, ...probe },
    );
    ofPod.set(key, {
      ...worker,
      stop() {
        worker.stop();
        for (const result of ['successful', 'failed']) probeTotal.remove({ ...labels, result });
      },
    });
  }

  function remove(uid: string, key: string): void {
    const ofPod = workers.get(uid);
    ofPod?.get(key)?.stop();
    ofPod?.delete(key);
    if (ofPod?.size === 0) workers.delete(uid);
  }

  function removeAll(uid: string): void {
    for (const key of [...(workers.get(uid)?.keys() ?? [])]) remove(uid, key);
  }

  function worker(pod: Pod, containerName: string, type: ProbeType): ProbeWorker | undefined {
    return workers.get(podUid(pod))?.get(`${containerName}/${type}`);
  }

  function isStarted(pod: Pod, container: Container | undefined, status: ContainerStatus): boolean {
    if (status.state?.running === undefined) return false;
    if (container?.startupProbe === undefined) return true;
    const result = deps.results.get('startup', bareContainerId(status.containerID));
    if (result !== undefined && result !== 'unknown') return result === 'success';
    worker(pod, status.name, 'startup')?.triggerIfNew(bareContainerId(status.containerID));
    // Before the first probe after a restart of the kubelet the reported state stands.
    return result === undefined && reported(pod, status)?.started === true;
  }

  function isReady(pod: Pod, container: Container | undefined, status: ContainerStatus): boolean {
    if (container?.readinessProbe === undefined) return true;
    const result = deps.results.get('readiness', bareContainerId(status.containerID));
    if (result === 'success') return true;
    const probing = worker(pod, status.name, 'readiness');
    probing?.trigger();
    return result === undefined && probing === undefined && reported(pod, status)?.ready === true;
  }

  /** What was last reported of this very container. */
  function reported(pod: Pod, status: ContainerStatus): ContainerStatus | undefined {
    const known = deps.podStatus(podUid(pod)) ?? pod.status;
    const statuses = [...(known?.containerStatuses ?? []), ...(known?.initContainerStatuses ?? [])];
    return statuses.find((candidate) => candidate.containerID === status.containerID);
  }

  function withProbes(pod: Pod, container: Container | undefined, status: ContainerStatus): ContainerStatus {
    const started = isStarted(pod, container, status);
    return { ...status, started, ready: started && isReady(pod, container, status) };
  }

  return {
    addPod(pod) {
      for (const container of probedContainers(pod)) {
        for (const { type, field } of TYPES) {
          const spec = container[field];
          if (spec !== undefined) startWorker(pod, container, { type, spec });
        }
      }
    },
    stopLivenessAndStartup(pod) {
      for (const key of [...(workers.get(podUid(pod))?.keys() ?? [])]) {
        if (!key.endsWith('/readiness')) remove(podUid(pod), key);
      }
    },
    removePod: (pod) => removeAll(podUid(pod)),
    cleanupPods(desired) {
      for (const uid of [...workers.keys()]) if (!desired.has(uid)) removeAll(uid);
    },
    updatePodStatus(pod, status) {
      const specs = new Map(
        [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])].map((container) => [
          container.name,
          container,
        ]),
      );
      const init = status.initContainerStatuses?.map((container) => {
        const spec = specs.get(container.name);
        if (spec !== undefined && isRestartableInitContainer(spec)) return withProbes(pod, spec, container);
        return {
          ...container,
          started: container.state?.running !== undefined,
          ready: container.state?.terminated?.exitCode === 0,
        };
      });
      const containers = status.containerStatuses?.map((container) =>
        withProbes(pod, specs.get(container.name), container),
      );
      return {
        ...status,
        ...(containers === undefined ? {} : { containerStatuses: containers }),
        ...(init === undefined ? {} : { initContainerStatuses: init }),
      };
    },
    stop() {
      for (const uid of [...workers.keys()]) removeAll(uid);
    },
  };
}
