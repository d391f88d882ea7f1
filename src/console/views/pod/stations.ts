/** The progress of a pod from its creation to its end, by its status. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import { texts } from '../../app/texts.ts';
import type { Tone } from '../../parts/tone.ts';

/** One station of a pod's life. */
export interface Station {
  readonly name: string;
  /** The detail that is shown with it: `1/2`, a reason. */
  readonly detail: string;
  readonly state: 'done' | 'now' | 'ahead' | 'skipped';
  readonly tone: Tone;
  /** 0 when the station is not reached, or the time is unknown. */
  readonly sinceMs: number;
}

type Passed = Omit<Station, 'state' | 'tone'> & { readonly over: boolean; readonly trouble?: boolean };

/** The stations in order. The first that is not over is the current one. */
export function stationsOf(pod: Pod): readonly Station[] {
  const { deletionTimestamp } = pod.metadata;
  const phase = pod.status?.phase ?? 'Pending';
  const ended = phase === 'Succeeded' || phase === 'Failed';
  const terminating = deletionTimestamp != null;
  const passed = [...beforeRunning(pod), ...whileRunning(pod, ended)];
  const at = ended || terminating ? passed.length : passed.findIndex(({ over }) => !over);
  const current = at < 0 ? passed.length - 1 : at;
  const stations = passed.map(({ over, trouble = false, ...station }, index): Station => {
    const state = index < current ? (over ? 'done' : 'skipped') : index === current ? 'now' : 'ahead';
    return { ...station, state, tone: trouble ? 'bad' : state === 'now' ? (over ? 'good' : 'busy') : 'plain' };
  });
  return [...stations, ending(pod, { ended, terminating, phase })];
}

function ending(
  { metadata, status }: Pod,
  { ended, terminating, phase }: { readonly ended: boolean; readonly terminating: boolean; readonly phase: string },
): Station {
  const { life } = texts.pod;
  if (ended)
    return {
      name: life.ended,
      detail: status?.reason ?? phase,
      state: 'now',
      tone: phase === 'Failed' ? 'bad' : 'done',
      sinceMs: 0,
    };
  return {
    name: life.terminating,
    detail: terminating ? life.grace(metadata.deletionGracePeriodSeconds ?? 0) : '',
    state: terminating ? 'now' : 'ahead',
    tone: terminating ? 'busy' : 'plain',
    // The deletion timestamp is the end of the grace period.
    sinceMs: terminating
      ? Date.parse(metadata.deletionTimestamp!) - Number(metadata.deletionGracePeriodSeconds ?? 0) * 1000
      : 0,
  };
}

interface Reached {
  readonly over: boolean;
  readonly sinceMs: number;
  readonly reason: string;
}

function conditionOf({ status }: Pod, type: string): Reached {
  const condition = status?.conditions?.find((one) => one.type === type);
  const over = condition?.status === 'True';
  return {
    over,
    sinceMs: over && condition.lastTransitionTime != null ? Date.parse(condition.lastTransitionTime) : 0,
    reason: over ? '' : (condition?.reason ?? ''),
  };
}

function beforeRunning(pod: Pod): readonly Passed[] {
  const { life } = texts.pod;
  const scheduled = conditionOf(pod, 'PodScheduled');
  const sandbox = conditionOf(pod, 'PodReadyToStartContainers');
  const initialized = conditionOf(pod, 'Initialized');
  const inits = pod.spec?.initContainers ?? [];
  const done = (pod.status?.initContainerStatuses ?? []).filter(
    ({ ready, started }) => ready || started === true,
  ).length;
  return [
    {
      name: life.scheduled,
      detail: scheduled.over ? (pod.spec?.nodeName ?? '') : scheduled.reason,
      over: scheduled.over,
      sinceMs: scheduled.sinceMs,
      trouble: scheduled.reason === 'Unschedulable',
    },
    // A running pod has a sandbox, even when an older kubelet does not report the condition.
    { name: life.sandbox, detail: sandbox.reason, over: sandbox.over || initialized.over, sinceMs: sandbox.sinceMs },
    {
      name: life.init,
      detail: inits.length === 0 ? life.none : `${Math.min(done, inits.length)}/${inits.length}`,
      over: initialized.over,
      sinceMs: initialized.sinceMs,
    },
  ];
}

function whileRunning(pod: Pod, ended: boolean): readonly Passed[] {
  const { life } = texts.pod;
  const statuses = pod.status?.containerStatuses ?? [];
  const all = pod.spec?.containers?.length ?? 0;
  const running = statuses.filter(({ state }) => state?.running !== undefined).length;
  const started = statuses.filter((status) => status.started === true).length;
  const ready = conditionOf(pod, 'Ready');
  const backOff = statuses.some(({ state }) => /BackOff|^Err/.test(state?.waiting?.reason ?? ''));
  return [
    {
      name: life.running,
      detail: `${running}/${all}`,
      over: running === all && all > 0,
      sinceMs: 0,
      trouble: backOff && !ended,
    },
    { name: life.started, detail: `${started}/${all}`, over: started === all && all > 0, sinceMs: 0 },
    { name: life.ready, detail: ready.reason, over: ready.over, sinceMs: ready.sinceMs },
  ];
}
