/**
 * Records the steps of pods' starts on this node, from the arrival of a pod until the API has it as ready or
 * finished. The timeline of a pod's start shows them; upstream has only the durations of whole starts
 * (pod_startup_latency_tracker.go).
 *
 * Static pods are left out: no API request starts them.
 */
import type { Pod, PodCondition, PodStatus } from '../../api/gen/core-v1.ts';
import { isPodPhaseTerminal } from '../../api/pod-phase.ts';
import { runStep, type StepScope } from '../../component-helpers/pod-trace/step-scope.ts';
import type { RecordedStep } from '../../component-helpers/pod-trace/recorded-step.ts';
import { StepRecords, type StepRecord } from '../../component-helpers/pod-trace/step-records.ts';
import type { StepsOf } from '../../component-helpers/pod-trace/trace-step.ts';
import type { Clock } from '../../platform/clock.ts';
import type { SpanAttributes, Tracer } from '../../platform/tracing.ts';
import type { PodStatus as RuntimePodStatus } from '../container/runtime.ts';
import type { ProbeType } from '../prober/results.ts';
import { READINESS_GATES_NOT_READY } from '../status/conditions.ts';
import { isMirrorPod, isStaticPod, podName, podNamespace, podUid } from '../types/pod-update.ts';

const MAX_PODS = 300;

/** A probe that a pod's start waits for. */
export interface AwaitedProbe {
  tried(): void;
  /** The probe succeeded, or the start does not wait for it any more. */
  end(): void;
}

export interface PodStartSteps {
  /** The kubelet got the pod from a source. */
  seen(pod: Pod): void;
  /** Runs a sync of the pod. */
  syncPod<T>(
    sync: { readonly pod: Pod; readonly podStatus: RuntimePodStatus; readonly updateType: string },
    work: (steps: StepScope) => Promise<T>,
  ): Promise<T>;
  /** No work is done until the next sync, for this reason. */
  backsOff(uid: string, reason: string): void;
  /** The container runs and is probed from now on. Undefined: the pod is not starting. */
  probing(uid: string, probe: { readonly container: string; readonly type: ProbeType }): AwaitedProbe | undefined;
  /** The API server has stored the status, which changed at the monotonic time given. */
  statusWritten(uid: string, written: { readonly status: PodStatus; readonly sinceMs: number }): void;
  readonly stepsOf: StepsOf;
}

/** Steps in progress that have no record yet. */
interface Waiting {
  admission: RecordedStep | undefined;
  backOff: RecordedStep | undefined;
  gates: RecordedStep | undefined;
  /** Exited containers whose run is already a step. */
  readonly ran: Set<string>;
}

/** A traced sync has a span; the sync of a starting pod also has steps. */
export function createPodStartSteps(clock: Clock, tracer?: Tracer): PodStartSteps {
  const records = new StepRecords(clock, MAX_PODS);
  const waits = new WeakMap<StepRecord, Waiting>();
  const open = (uid: string): StepRecord | undefined => {
    const record = records.get(uid);
    return record === undefined || record.finished ? undefined : record;
  };
  return {
    seen(pod) {
      const isStart = (pod.status?.phase ?? 'Pending') === 'Pending' && !isMirrorPod(pod) && !isStaticPod(pod);
      if (!isStart || records.get(podUid(pod)) !== undefined) return;
      const record = records.of({ uid: podUid(pod), namespace: podNamespace(pod), name: podName(pod) });
      waits.set(record, { admission: record.start('admission'), backOff: undefined, gates: undefined, ran: new Set() });
    },
    syncPod({ pod, podStatus, updateType }, work) {
      const record = open(podUid(pod));
      const span = tracer?.start('syncPod', {
        attributes: { ...podAttributes(pod), 'k8s.pod.update_type': updateType },
      });
      const waiting = record && waits.get(record);
      if (record === undefined || waiting === undefined) return runStep({ record: undefined, span }, undefined, work);
      endWaiting(record, waiting);
      addRuns(record, waiting, { podStatus, nowMs: clock.nowMs() });
      const step = record.start('syncPod');
      step.detail = updateType;
      return runStep({ record, span }, step, work);
    },
    backsOff(uid, reason) {
      const record = open(uid);
      const waiting = record && waits.get(record);
      if (record === undefined || waiting === undefined) return;
      waiting.backOff = record.start('back-off');
      waiting.backOff.detail = reason;
    },
    probing(uid, { container, type }) {
      const record = open(uid);
      return record === undefined ? undefined : awaitedProbe(record, `${type} probe`, container);
    },
    statusWritten(uid, { status, sinceMs }) {
      const record = open(uid);
      if (record === undefined) return;
      const ready = status.conditions?.find(({ type }) => type === 'Ready');
      const isReady = ready?.status === 'True';
      const step = record.start('status', { atMs: sinceMs });
      step.detail = isReady ? 'Ready' : status.phase;
      record.end(step);
      const waiting = waits.get(record);
      if (waiting !== undefined) awaitGates(record, waiting, { ready, sinceMs });
      if (!isReady && !isPodPhaseTerminal(status.phase)) return;
      record.finish();
      waits.delete(record);
    },
    stepsOf: (namespace, name) => records.find(namespace, name)?.publish('kubelet'),
  };
}

/** The attributes of upstream's spans of pod syncs. */
export function podAttributes(pod: Pod): SpanAttributes {
  return {
    'k8s.pod.uid': podUid(pod),
    'k8s.pod': `${podNamespace(pod)}/${podName(pod)}`,
    'k8s.pod.name': podName(pod),
    'k8s.namespace.name': podNamespace(pod),
  };
}

function endWaiting(record: StepRecord, waiting: Waiting): void {
  for (const step of [waiting.admission, waiting.backOff]) if (step !== undefined) record.end(step);
  waiting.admission = undefined;
  waiting.backOff = undefined;
}

/**
 * Adds the runs of exited containers (init containers, and failed ones), and the time until a sync noticed the exit.
 */
function addRuns(
  record: StepRecord,
  { ran }: Waiting,
  { podStatus, nowMs }: { readonly podStatus: RuntimePodStatus; readonly nowMs: number },
): void {
  for (const { id, name, state, startedAtMs, finishedAtMs, exitCode } of podStatus.containers) {
    if (state !== 'exited' || startedAtMs === 0 || ran.has(id)) continue;
    ran.add(id);
    record.add('container ran', {
      startMs: startedAtMs,
      endMs: finishedAtMs,
      detail: `${name}, exit code ${exitCode}`,
    });
    record.add('exit noticed', { startMs: finishedAtMs, endMs: nowMs, detail: name });
  }
}

/** Another component sets the conditions of readiness gates: the wait lasts from status to status. */
function awaitGates(
  record: StepRecord,
  waiting: Waiting,
  { ready, sinceMs }: { readonly ready: PodCondition | undefined; readonly sinceMs: number },
): void {
  if (ready?.reason === READINESS_GATES_NOT_READY) {
    waiting.gates ??= record.start('readiness gates', { atMs: sinceMs });
    waiting.gates.detail = ready.message;
  } else if (waiting.gates !== undefined) {
    waiting.gates.endMs = sinceMs;
    waiting.gates = undefined;
  }
}

function awaitedProbe(record: StepRecord, name: string, container: string): AwaitedProbe {
  const step = record.start(name);
  let tries = 0;
  return {
    tried() {
      tries++;
      step.detail = `${container}, ${tries === 1 ? '1 try' : `${tries} tries`}`;
    },
    end() {
      if (step.endMs === undefined) record.end(step);
    },
  };
}
