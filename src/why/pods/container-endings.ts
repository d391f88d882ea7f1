/** Explains containers that the kubelet ended because a probe or the postStart hook failed. */
import { Pods } from '../../api/gen/resources.ts';
import type { Container, ContainerStateTerminated, Event, Pod } from '../../api/gen/core-v1.ts';
import { parseTime } from '../../api/time.ts';
import type { ContainerEnding } from '../../api/pod-node-state.ts';
import { timeOfEvent, type Evidence } from '../evidence.ts';
import { cause, type Cause } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';
import { nodeStateOf } from './node-state.ts';
import { probeText } from './probe-text.ts';

/** Times of events are whole seconds. */
const EVENT_SLACK_MS = 1000;

type Reason = ContainerEnding['reason'];

const PROBE_CURE =
  'see whether the program listens where the probe asks, and in time: timeoutSeconds, failureThreshold and initialDelaySeconds give it more';

/** By reason: the code, the failed check, and the cure. */
const KINDS: Readonly<
  Record<Reason, { readonly code: string; readonly text: (container: Container) => string; readonly cure: string }>
> = {
  LivenessProbe: {
    code: 'LivenessProbe',
    text: ({ livenessProbe }) =>
      `the liveness probe${livenessProbe === undefined ? '' : ` (${probeText(livenessProbe)})`}`,
    cure: PROBE_CURE,
  },
  StartupProbe: {
    code: 'StartupProbe',
    text: ({ startupProbe }) =>
      `the start-up probe${startupProbe === undefined ? '' : ` (${probeText(startupProbe)})`}`,
    cure: PROBE_CURE,
  },
  PostStartHook: {
    code: 'PostStartHookError',
    text: () => 'the postStart hook',
    cure: 'see what the postStart hook says; the container is ended when it fails',
  },
};

/** The reason why the kubelet ended a container; no causes when it exited by itself, or when no source states the reason. */
export async function endingCauses(
  pod: Pod,
  { name, terminated }: { readonly name: string; readonly terminated: ContainerStateTerminated },
  evidence: Evidence,
): Promise<readonly Cause[]> {
  const { initContainers = [], containers } = pod.spec ?? { containers: [] };
  const container = [...initContainers, ...containers].find((one) => one.name === name);
  if (container === undefined || !mayBeEnded(container)) return [];
  const endings = (await nodeStateOf(pod, evidence))?.endings ?? [];
  const containerEnding = endings.find(
    ({ container: of, containerId }) => of === name && terminated.containerID?.endsWith(`://${containerId}`) === true,
  );
  if (containerEnding !== undefined) return [endingCause(pod, container, containerEnding)];
  return eventCauses(pod, container, terminated, await evidence.events(pod));
}

function mayBeEnded({ livenessProbe, startupProbe, lifecycle }: Container): boolean {
  return [livenessProbe, startupProbe, lifecycle?.postStart].some((one) => one !== undefined);
}

function endingCause(
  pod: Pod,
  container: Container,
  { reason, output, at }: Pick<ContainerEnding, 'reason' | 'output'> & { readonly at?: string },
): Cause {
  const { code, text, cure } = KINDS[reason];
  return cause({
    code,
    object: nameOfObject(Pods, pod),
    message: `${text(container)} of container ${container.name} failed, so that the kubelet ended it`,
    since: at,
    facts: output === '' ? [] : [output.trimEnd()],
    cure: { text: cure },
  });
}

/** Causes from the events of the container's run. They do not state which of several probes failed. */
function eventCauses(
  pod: Pod,
  container: Container,
  { startedAt, finishedAt }: ContainerStateTerminated,
  events: readonly Event[],
): readonly Cause[] {
  const { livenessProbe, startupProbe, readinessProbe } = container;
  const [startMs, endMs] = [parseTime(startedAt), parseTime(finishedAt)];
  const last = (reason: string): Event | undefined =>
    events.find((event) => {
      const atMs = timeOfEvent(event);
      const isIts = (event.involvedObject.fieldPath ?? '').endsWith(`{${container.name}}`);
      return event.reason === reason && isIts && atMs >= startMs - EVENT_SLACK_MS && atMs <= endMs + EVENT_SLACK_MS;
    });
  const failedHook = last('FailedPostStartHook');
  if (failedHook !== undefined)
    return [endingCause(pod, container, { reason: 'PostStartHook', output: failedHook.message ?? '' })];
  const probes = [livenessProbe, startupProbe, readinessProbe].filter((probe) => probe !== undefined);
  const unhealthy = last('Unhealthy');
  if (probes.length !== 1 || readinessProbe !== undefined || unhealthy === undefined || last('Killing') === undefined)
    return [];
  const reason = livenessProbe === undefined ? 'StartupProbe' : 'LivenessProbe';
  return [endingCause(pod, container, { reason, output: unhealthy.message ?? '' })];
}
