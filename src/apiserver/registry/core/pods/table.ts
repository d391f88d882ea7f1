/** Columns of `kubectl get pods`. Upstream: printers/internalversion printPod. */
import { isConditionTrue } from '../../../../component-helpers/conditions.ts';
import { sidecarsOf } from '../../../../api/pod-containers.ts';
import { ageOf } from '../../../../api/age.ts';
import type { ContainerStatus, Pod } from '../../../../api/gen/core-v1.ts';
import { isPodPhaseTerminal } from '../../../../api/pod-phase.ts';
import { parseTime } from '../../../../api/time.ts';
import { ageCell, ageColumn, column, printerOf, textOrNone, wide } from '../../printing.ts';
import type { Printer } from '../../resource-definition.ts';

interface Summary {
  reason: string;
  ready: number;
  restarts: number;
  lastRestart: string | undefined;
}

function later(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return parseTime(b) > parseTime(a) ? b : a;
}

function exitReason(terminated: { exitCode: number; signal?: number; reason?: string }): string {
  if ((terminated.reason ?? '') !== '') return terminated.reason!;
  return (terminated.signal ?? 0) !== 0 ? `Signal:${terminated.signal}` : `ExitCode:${terminated.exitCode}`;
}

/** The names of sidecars: init containers that keep running. */
function sidecarNames(pod: Pod): Set<string> {
  const sidecars = sidecarsOf(pod.spec);
  return new Set(sidecars.map((container) => container.name));
}

/** The reason why initialization is incomplete; undefined for a completed init container. */
function initReason(status: ContainerStatus, index: number, total: number): string {
  const { terminated, waiting } = status.state ?? {};
  if (terminated !== undefined) return `Init:${exitReason(terminated)}`;
  if ((waiting?.reason ?? '') !== '' && waiting!.reason !== 'PodInitializing') return `Init:${waiting!.reason}`;
  return `Init:${index}/${total}`;
}

interface InitSummary extends Summary {
  initializing: boolean;
  sidecarRestarts: number;
  sidecarLastRestart: string | undefined;
}

function summarizeInit(pod: Pod, reason: string): InitSummary {
  const sidecars = sidecarNames(pod);
  const summary: InitSummary = {
    reason,
    ready: 0,
    restarts: 0,
    lastRestart: undefined,
    initializing: false,
    sidecarRestarts: 0,
    sidecarLastRestart: undefined,
  };
  for (const [index, status] of (pod.status?.initContainerStatuses ?? []).entries()) {
    const ended = status.lastState?.terminated?.finishedAt;
    summary.restarts += status.restartCount;
    summary.lastRestart = later(summary.lastRestart, ended);
    const sidecar = sidecars.has(status.name);
    if (sidecar) {
      summary.sidecarRestarts += status.restartCount;
      summary.sidecarLastRestart = later(summary.sidecarLastRestart, ended);
    }
    if (status.state?.terminated?.exitCode === 0) continue;
    if (sidecar && status.started === true) {
      if (status.ready) summary.ready++;
      continue;
    }
    summary.reason = initReason(status, index, (pod.spec?.initContainers ?? []).length);
    summary.initializing = true;
    break;
  }
  return summary;
}

function summarizeMain(pod: Pod, init: InitSummary): Summary {
  const summary: Summary = {
    reason: init.reason,
    ready: init.ready,
    restarts: init.sidecarRestarts,
    lastRestart: init.sidecarLastRestart,
  };
  let hasRunning = false;
  for (const status of (pod.status?.containerStatuses ?? []).toReversed()) {
    summary.restarts += status.restartCount;
    summary.lastRestart = later(summary.lastRestart, status.lastState?.terminated?.finishedAt);
    const { waiting, terminated, running } = status.state ?? {};
    if ((waiting?.reason ?? '') !== '') summary.reason = waiting!.reason!;
    else if (terminated !== undefined) summary.reason = exitReason(terminated);
    else if (status.ready && running !== undefined) {
      hasRunning = true;
      summary.ready++;
    }
  }
  if (summary.reason === 'Completed' && hasRunning)
    summary.reason = isConditionTrue(pod, 'Ready') ? 'Running' : 'NotReady';
  return summary;
}

function summarize(pod: Pod): Summary {
  const status = pod.status;
  let reason = (status?.reason ?? '') !== '' ? status!.reason! : (status?.phase ?? '');
  if ((status?.conditions ?? []).some((c) => c.type === 'PodScheduled' && c.reason === 'SchedulingGated'))
    reason = 'SchedulingGated';
  const init = summarizeInit(pod, reason);
  const summary = !init.initializing || isConditionTrue(pod, 'Initialized') ? summarizeMain(pod, init) : init;
  if (pod.metadata.deletionTimestamp === undefined) return summary;
  if (status?.reason === 'NodeLost') return { ...summary, reason: 'Unknown' };
  return isPodPhaseTerminal(status?.phase) ? summary : { ...summary, reason: 'Terminating' };
}

function readinessGates(pod: Pod): string {
  const gates = pod.spec?.readinessGates ?? [];
  if (gates.length === 0) return '<none>';
  return `${gates.filter((gate) => isConditionTrue(pod, gate.conditionType)).length}/${gates.length}`;
}

export const podPrinter: Printer<Pod> = printerOf(
  [
    column('Ready'),
    column('Status'),
    column('Restarts'),
    ageColumn,
    ...['IP', 'Node', 'Nominated Node', 'Readiness Gates'].map((name) => wide(column(name))),
  ],
  (pod, nowMs) => {
    const { reason, ready, restarts, lastRestart } = summarize(pod);
    const total = (pod.spec?.containers ?? []).length + sidecarNames(pod).size;
    const ago = restarts !== 0 && lastRestart !== undefined ? ` (${ageOf(lastRestart, nowMs)} ago)` : '';
    return [
      `${ready}/${total}`,
      reason,
      `${restarts}${ago}`,
      ageCell(pod, nowMs),
      textOrNone(pod.status?.podIPs?.[0]?.ip ?? pod.status?.podIP),
      textOrNone(pod.spec?.nodeName),
      textOrNone(pod.status?.nominatedNodeName),
      readinessGates(pod),
    ];
  },
);
