/** How a container ended: exit code, signal, out of memory, last log lines. */
import { podContainers } from '../../api/pod-containers.ts';
import { Pods } from '../../api/gen/resources.ts';
import type { ContainerStateTerminated, ContainerStatus, Pod } from '../../api/gen/core-v1.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Cure } from '../explanation.ts';
import { inNamespace, nameOfObject } from '../object-name.ts';
import { endingCauses } from './container-endings.ts';
import { rebootCauses } from './reboot.ts';

/** One end of a container. `previous` is true when it runs again or will be restarted. */
export interface ContainerEnd {
  readonly status: ContainerStatus;
  readonly terminated: ContainerStateTerminated;
  readonly previous: boolean;
}

const LOG_LINES = 5;
const LOG_BYTES = 8192;
/** Higher exit codes are 128 plus a signal's number. */
const SIGNAL_BASE = 128;
const SIGNALS: Readonly<Record<number, string>> = {
  1: 'SIGHUP',
  2: 'SIGINT',
  3: 'SIGQUIT',
  4: 'SIGILL',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  11: 'SIGSEGV',
  13: 'SIGPIPE',
  15: 'SIGTERM',
};

export async function terminationCause(pod: Pod, end: ContainerEnd, evidence: Evidence): Promise<Cause> {
  const { status, terminated } = end;
  const { message = '', finishedAt } = terminated;
  // A container that never started has no log.
  const lines = await (isNeverStarted(terminated) ? failureText : lastLines)(pod, end, evidence);
  const because = await containerEndCauses(pod, { name: status.name, terminated }, evidence);
  return cause({
    code: codeOf(terminated),
    object: nameOfObject(Pods, pod),
    message: endText(status.name, terminated),
    since: finishedAt ?? undefined,
    facts: [...(message === '' ? [] : [message.trimEnd()]), ...lines],
    cure: cureOf(pod, end, because.length === 0),
    because,
  });
}

/** The cause of a container's end when it did not exit by itself. */
export async function containerEndCauses(
  pod: Pod,
  end: { readonly name: string; readonly terminated: ContainerStateTerminated },
  evidence: Evidence,
): Promise<readonly Cause[]> {
  return [...(await rebootCauses(pod, end.terminated, evidence)), ...(await endingCauses(pod, end, evidence))];
}

function cureOf(pod: Pod, { status, terminated, previous }: ContainerEnd, endedByItself: boolean): Cure {
  if (isNeverStarted(terminated))
    return { text: 'correct command, args or workingDir of the container, or what the message names' };
  const self = nameOfObject(Pods, pod);
  if (terminated.reason !== 'OOMKilled') {
    const logs = `kubectl logs ${self.name}${inNamespace(self)} -c ${status.name}${previous ? ' --previous' : ''}`;
    const text =
      terminated.exitCode === 0 && endedByItself
        ? 'let its program run on (a shell ends where it has no terminal), or run it as a Job, whose pods may end'
        : 'read what it said before it ended';
    return { text, command: logs };
  }
  const containers = podContainers(pod.spec);
  const memory = containers.find(({ name }) => name === status.name)?.resources?.limits?.['memory'];
  return { text: `raise its memory limit${memory === undefined ? '' : ` (now ${memory})`}, or make it use less` };
}

/** The runtime's message, from an event when the status lacks it. */
async function failureText(
  pod: Pod,
  { status, terminated }: ContainerEnd,
  evidence: Evidence,
): Promise<readonly string[]> {
  if ((terminated.message ?? '') !== '') return [];
  const field = `{${status.name}}`;
  const failed = (await evidence.events(pod)).find(
    ({ reason, involvedObject }) => reason === 'Failed' && (involvedObject.fieldPath ?? '').endsWith(field),
  );
  return failed?.message === undefined ? [] : [failed.message];
}

/** Whether the runtime could not start the container's process. */
function isNeverStarted({ reason = '' }: ContainerStateTerminated): boolean {
  return reason === 'StartError' || reason === 'ContainerCannotRun';
}

/** `container web ended with exit code 137 (SIGKILL): out of memory`. */
export function endText(name: string, terminated: ContainerStateTerminated): string {
  const { reason = '', exitCode } = terminated;
  if (isNeverStarted(terminated)) return `the process of container ${name} could not be started`;
  return reason === 'ContainerStatusUnknown'
    ? `how container ${name} ended is not known: the runtime has no trace of it, as after a restart of its node`
    : `container ${name} ended with exit code ${exitCode}${signalText(terminated)}${reason === 'OOMKilled' ? ': out of memory' : ''}`;
}

function codeOf(terminated: ContainerStateTerminated): string {
  const { reason = '', exitCode } = terminated;
  if (reason === 'OOMKilled') return 'OutOfMemory';
  if (reason === 'ContainerStatusUnknown') return reason;
  if (isNeverStarted(terminated)) return 'ContainerCannotStart';
  return exitCode > SIGNAL_BASE && SIGNALS[exitCode - SIGNAL_BASE] !== undefined ? 'KilledBySignal' : 'ContainerExited';
}

function signalText({ exitCode, signal }: ContainerStateTerminated): string {
  const number = signal !== undefined && signal > 0 ? signal : exitCode - SIGNAL_BASE;
  const name = SIGNALS[number];
  return name === undefined ? '' : ` (${name})`;
}

/** The last lines of its log, if there are any. */
async function lastLines(pod: Pod, { status, previous }: ContainerEnd, evidence: Evidence): Promise<readonly string[]> {
  const { namespace = '', name = '' } = pod.metadata;
  const query = `container=${encodeURIComponent(status.name)}&tailLines=${LOG_LINES}&limitBytes=${LOG_BYTES}${previous ? '&previous=true' : ''}`;
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/log?${query}`;
  const text = await evidence.text(`log of ${status.name} of pod/${namespace}/${name}`, path);
  return (text ?? '').split('\n').filter((line) => line !== '');
}
