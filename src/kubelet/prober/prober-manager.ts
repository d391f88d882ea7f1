/**
 * Runs one worker per container and probe, and sets their results in pod statuses. Upstream:
 * pkg/kubelet/prober/prober_manager.go.
 */
import { isRestartableInitContainer, podContainers, sidecarsOf } from '../../api/pod-containers.ts';
import type { Container, ContainerStatus, Pod, PodStatus, Probe } from '../../api/gen/core-v1.ts';
import { firstBy } from '../../base/first-by.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { Log } from '../../platform/log.ts';
import type { Counter } from '../../platform/metrics.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { Random } from '../../platform/random.ts';
import type { ContainerEnding, ProbeAnswer } from '../../api/pod-node-state.ts';
import { ContainerEndings } from '../pod/container-endings.ts';
import type { PodStartSteps } from '../pod/start-steps.ts';
import { podName, podNamespace, podUid } from '../types/pod-update.ts';
import { probePeriod } from './probe-period.ts';
import type { Prober } from './prober.ts';
import type { ResultsManager } from './results-manager.ts';
import type { ProbeType } from './results.ts';
import { bareContainerId, startProbeWorker, type ProbeWorker } from './worker.ts';

export interface ProbeManager {
  /** Starts the missing workers of a pod's probes. */
  addPod(pod: Pod): void;
  /** For a terminating pod: from now on only readiness is probed. */
  stopLivenessAndStartup(pod: Pod): void;
  removePod(pod: Pod): void;
  /** Stops the workers of all pods but these. */
  cleanupPods(desired: ReadonlySet<string>): void;
  /** `status` with `ready` and `started` set from the probes. */
  updatePodStatus(pod: Pod, status: PodStatus): PodStatus;
  /** The last results of a pod's probes. */
  answers(uid: string): readonly ProbeAnswer[];
  /** Containers of the pod that were killed because of their probes. */
  endings(uid: string): readonly ContainerEnding[];
  stop(): void;
}

export interface ProbeManagerDeps {
  readonly platform: BasePlatform;
  readonly prober: Prober;
  readonly recorder: KubeletEventRecorder;
  readonly results: ResultsManager;
  readonly startSteps: Pick<PodStartSteps, 'probing'>;
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

/** Containers that may have probes: regular ones and sidecars. */
function probedContainers(pod: Pod): readonly Container[] {
  return [...sidecarsOf(pod.spec), ...(pod.spec?.containers ?? [])];
}

/** Values of upstream's label probe_type. */
const METRIC_TYPES: Readonly<Record<ProbeType, string>> = {
  liveness: 'Liveness',
  readiness: 'Readiness',
  startup: 'Startup',
};

/** The time of this call counts as the kubelet's start. */
export function createProbeManager(deps: ProbeManagerDeps): ProbeManager {
  return new PodProbeManager(deps);
}

interface RunningProbe {
  readonly worker: ProbeWorker;
  readonly removeMetrics: () => void;
}

/** An index of the pod's reported status, since each of its thousands of containers is looked up. */
const statusesById = new WeakMap<PodStatus, ReadonlyMap<string | undefined, ContainerStatus>>();

class PodProbeManager implements ProbeManager {
  readonly #deps: ProbeManagerDeps;
  readonly #log: Log;
  readonly #random: Random;
  readonly #startedAtMs: number;
  readonly #probeTotal: Counter;
  readonly #endings = new ContainerEndings();
  /** By pod uid, then `container/type`. */
  readonly #workers = new Map<string, Map<string, RunningProbe>>();

  constructor(deps: ProbeManagerDeps) {
    this.#deps = deps;
    this.#log = deps.platform.log.child('prober');
    this.#random = deps.platform.random.fork('prober');
    this.#startedAtMs = deps.platform.clock.nowMs();
    this.#probeTotal = deps.platform.metrics.counter({
      name: 'prober_probe_total',
      help: 'Cumulative number of a liveness, readiness or startup probe for a container by result.',
      labels: ['probe_type', 'result', 'container', 'pod', 'namespace', 'pod_uid'],
    });
  }

  addPod(pod: Pod): void {
    for (const container of probedContainers(pod)) {
      for (const { type, field } of TYPES) {
        const spec = container[field];
        if (spec !== undefined) this.#startWorker(pod, container, { type, spec });
      }
    }
  }

  stopLivenessAndStartup(pod: Pod): void {
    for (const key of [...(this.#workers.get(podUid(pod))?.keys() ?? [])]) {
      if (!key.endsWith('/readiness')) this.#remove(podUid(pod), key);
    }
  }

  removePod(pod: Pod): void {
    this.#removeAll(podUid(pod));
  }

  cleanupPods(desired: ReadonlySet<string>): void {
    for (const uid of [...this.#workers.keys()]) if (!desired.has(uid)) this.#removeAll(uid);
  }

  updatePodStatus(pod: Pod, status: PodStatus): PodStatus {
    const specs = new Map(podContainers(pod.spec).map((container) => [container.name, container]));
    const init = status.initContainerStatuses?.map((container) => {
      const spec = specs.get(container.name);
      if (spec !== undefined && isRestartableInitContainer(spec)) return this.#withProbes(pod, spec, container);
      return {
        ...container,
        started: container.state?.running !== undefined,
        ready: container.state?.terminated?.exitCode === 0,
      };
    });
    const containers = status.containerStatuses?.map((container) =>
      this.#withProbes(pod, specs.get(container.name), container),
    );
    return {
      ...status,
      ...(containers === undefined ? {} : { containerStatuses: containers }),
      ...(init === undefined ? {} : { initContainerStatuses: init }),
    };
  }

  answers(uid: string): readonly ProbeAnswer[] {
    return [...(this.#workers.get(uid)?.values() ?? [])].flatMap(({ worker }) => worker.answer() ?? []);
  }

  endings(uid: string): readonly ContainerEnding[] {
    return this.#endings.ofPod(uid);
  }

  stop(): void {
    for (const uid of [...this.#workers.keys()]) this.#removeAll(uid);
  }

  #startWorker(pod: Pod, container: Container, probe: { type: ProbeType; spec: Probe }): void {
    const uid = podUid(pod);
    const ofPod = this.#workers.get(uid) ?? new Map<string, RunningProbe>();
    this.#workers.set(uid, ofPod);
    const key = `${container.name}/${probe.type}`;
    if (ofPod.has(key)) return;
    const { problem } = probePeriod(pod, probe.type, probe.spec);
    if (problem !== undefined) this.#deps.recorder.event(pod, 'Warning', 'ProbeWarning', problem);
    const labels = {
      probe_type: METRIC_TYPES[probe.type],
      container: container.name,
      pod: podName(pod),
      namespace: podNamespace(pod),
      pod_uid: uid,
    };
    const worker = startProbeWorker(
      {
        clock: this.#deps.platform.clock,
        log: this.#log,
        prober: this.#deps.prober,
        results: this.#deps.results,
        podStatus: () => this.#deps.podStatus(uid),
        currentPod: () => this.#deps.podByUid(uid) ?? pod,
        startedAtMs: this.#startedAtMs,
        random: () => this.#random.next(),
        probing: () => this.#deps.startSteps.probing(uid, { container: container.name, type: probe.type }),
        onEnd: () => this.#remove(uid, key),
        ended: (ending) => this.#endings.add(uid, ending),
        count: (result) => this.#probeTotal.inc({ ...labels, result: result === 'success' ? 'successful' : 'failed' }),
      },
      { container, ...probe },
    );
    ofPod.set(key, {
      worker,
      removeMetrics: () => {
        for (const result of ['successful', 'failed']) this.#probeTotal.remove({ ...labels, result });
      },
    });
  }

  #remove(uid: string, key: string): void {
    const ofPod = this.#workers.get(uid);
    ofPod?.get(key)?.worker.stop();
    ofPod?.get(key)?.removeMetrics();
    ofPod?.delete(key);
    if (ofPod?.size === 0) this.#workers.delete(uid);
  }

  #removeAll(uid: string): void {
    for (const key of [...(this.#workers.get(uid)?.keys() ?? [])]) this.#remove(uid, key);
  }

  #worker(pod: Pod, containerName: string, type: ProbeType): ProbeWorker | undefined {
    return this.#workers.get(podUid(pod))?.get(`${containerName}/${type}`)?.worker;
  }

  #isStarted(pod: Pod, container: Container | undefined, status: ContainerStatus): boolean {
    if (status.state?.running === undefined) return false;
    if (container?.startupProbe === undefined) return true;
    const result = this.#deps.results.get('startup', bareContainerId(status.containerID));
    if (result !== undefined && result !== 'unknown') return result === 'success';
    this.#worker(pod, status.name, 'startup')?.triggerIfNew(bareContainerId(status.containerID));
    // Until the first probe after a restart of the kubelet, the reported state is kept.
    return result === undefined && this.#reportedStatus(pod, status)?.started === true;
  }

  #isReady(pod: Pod, container: Container | undefined, status: ContainerStatus): boolean {
    if (container?.readinessProbe === undefined) return true;
    const result = this.#deps.results.get('readiness', bareContainerId(status.containerID));
    if (result === 'success') return true;
    const probing = this.#worker(pod, status.name, 'readiness');
    probing?.trigger();
    return result === undefined && probing === undefined && this.#reportedStatus(pod, status)?.ready === true;
  }

  /** The last reported status of this container. */
  #reportedStatus(pod: Pod, status: ContainerStatus): ContainerStatus | undefined {
    const reported = this.#deps.podStatus(podUid(pod)) ?? pod.status;
    if (reported === undefined) return undefined;
    let byId = statusesById.get(reported);
    if (byId === undefined) {
      const statuses = [...(reported.containerStatuses ?? []), ...(reported.initContainerStatuses ?? [])];
      byId = firstBy(statuses, ({ containerID }) => containerID);
      statusesById.set(reported, byId);
    }
    return byId.get(status.containerID);
  }

  #withProbes(pod: Pod, container: Container | undefined, status: ContainerStatus): ContainerStatus {
    const started = this.#isStarted(pod, container, status);
    return { ...status, started, ready: started && this.#isReady(pod, container, status) };
  }
}
