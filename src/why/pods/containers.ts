/** Explains why containers of a pod wait or have ended, in the order in which they start. */
import { Pods } from '../../api/gen/resources.ts';
import type { Container, ContainerStatus, Pod } from '../../api/gen/core-v1.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';
import { imageCauses, isImageReason } from './images.ts';
import { nodeStateOf } from './node-state.ts';
import { environmentMentions, mentionCauses } from './references.ts';
import { terminationCause } from './termination.ts';
import { appendAll } from '../../base/lists.ts';

/** The limit of causes; further containers usually have the same ones. */
const MAX_CAUSES = 20;

export async function containerCauses(pod: Pod, evidence: Evidence): Promise<readonly Cause[]> {
  const { spec, status } = pod;
  const causes: Cause[] = [];
  const all = [
    ...pairs(spec?.initContainers, status?.initContainerStatuses),
    ...pairs(spec?.containers, status?.containerStatuses),
  ];
  for (const { container, status: one } of all) {
    if (causes.length >= MAX_CAUSES) break;
    appendAll(causes, await causesOf(pod, container, one, evidence));
  }
  return causes;
}

interface Pair {
  readonly container: Container;
  readonly status: ContainerStatus;
}

function pairs(containers: readonly Container[] = [], statuses: readonly ContainerStatus[] = []): readonly Pair[] {
  const byName = new Map(statuses.map((status) => [status.name, status]));
  return containers.flatMap((container) => {
    const status = byName.get(container.name);
    return status === undefined ? [] : [{ container, status }];
  });
}

async function causesOf(
  pod: Pod,
  container: Container,
  status: ContainerStatus,
  evidence: Evidence,
): Promise<readonly Cause[]> {
  const { waiting, terminated } = status.state ?? {};
  const reason = waiting?.reason ?? '';
  if (isImageReason(reason)) return imageCauses(pod, container, status, evidence);
  if (reason === 'CrashLoopBackOff') return [await crashCause(pod, status, evidence)];
  if (reason === 'CreateContainerConfigError') {
    const missing = await mentionCauses(pod, environmentMentions(container), evidence);
    return missing.length > 0 ? missing : [waitingCause(pod, status)];
  }
  if (waiting !== undefined && !['ContainerCreating', 'PodInitializing', ''].includes(reason))
    return [waitingCause(pod, status)];
  if (isInitRetry(pod, status)) return [await crashCause(pod, status, evidence)];
  if (terminated !== undefined && terminated.exitCode !== 0)
    return [await terminationCause(pod, { status, terminated, previous: false }, evidence)];
  return [];
}

/** Whether an init container runs again after a failure. It has not recovered: the pod starts only when it succeeds. */
function isInitRetry({ spec }: Pod, { name, state, lastState }: ContainerStatus): boolean {
  const isInit = spec?.initContainers?.some((one) => one.name === name && one.restartPolicy !== 'Always') === true;
  return isInit && state?.running !== undefined && (lastState?.terminated?.exitCode ?? 0) !== 0;
}

async function crashCause(pod: Pod, status: ContainerStatus, evidence: Evidence): Promise<Cause> {
  const terminated = status.lastState?.terminated;
  const because =
    terminated === undefined ? [] : [await terminationCause(pod, { status, terminated, previous: true }, evidence)];
  const held = (await nodeStateOf(pod, evidence))?.heldBack.find(({ name }) => name === status.name);
  const times = `${status.restartCount} ${status.restartCount === 1 ? 'time' : 'times'}`;
  return cause({
    code: 'CrashLoop',
    object: nameOfObject(Pods, pod),
    message: `container ${status.name} ends again and again: it has been restarted ${times}`,
    nextTry: held?.nextTry,
    facts: status.state?.waiting?.message === undefined ? [] : [status.state.waiting.message],
    because,
  });
}

/** Cures by the kubelet's waiting reason. */
const CURES: Readonly<Record<string, string>> = {
  CreateContainerConfigError: 'mend what the message names in the specification of the container',
  CreateContainerError: 'mend what the runtime says of the container',
  RunContainerError: 'check command, args and the mounts: the runtime could not start the process',
  PostStartHookError: 'see what the postStart hook says; the container is ended when it fails',
  PreCreateHookError: 'read the log of the kubelet of its node',
};

function waitingCause(pod: Pod, { name, state }: ContainerStatus): Cause {
  const { reason = '', message = '' } = state?.waiting ?? {};
  const cure = CURES[reason];
  return cause({
    code: reason,
    object: nameOfObject(Pods, pod),
    message: `container ${name} cannot be started (${reason})`,
    facts: message === '' ? [] : [message],
    cure: cure === undefined ? undefined : { text: cure },
  });
}
