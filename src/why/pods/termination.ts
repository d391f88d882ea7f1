/** How a container ended: exit code, signal, out of memory, its last lines. */
import { Pods } from '../../api/gen/resources.ts';
import type { ContainerStateTerminated, ContainerStatus, Pod } from '../../api/gen/core-v1.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Cure } from '../explanation.ts';
import { inNamespace, nameOfObject } from '../object-name.ts';
import { rebootCauses } from './reboot.ts';

/** One end of a container; `previous`: it runs again, or waits to. */
export interface ContainerEnd {
  readonly status: ContainerStatus;
  readonly terminated: ContainerStateTerminated;
  readonly previous: boolean;
}

const LOG_LINES = 5;
const LOG_BYTES = 8192;
/** Exit codes from here on are 128 and a signal. */
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
  const { status, terminated, previous } = end;
  const { reason = '', message = '', finishedAt } = terminated;
  const self = nameOfObject(Pods, pod);
  const lines = await lastLines(pod, end, evidence);
  const memory = (pod.spec?.containers ?? []).find(({ name }) => name === status.name)?.resources?.limits?.['memory'];
  const logs = `kubectl logs ${self.name}${inNamespace(self)} -c ${status.name}${previous ? ' --previous' : ''}`;
  const cure: Cure =
    reason === 'OOMKilled'
      ? { text: `raise its memory limit${memory === undefined ? '' : ` (now ${memory})`}, or make it use less` }
      : { text: 'read what it said before it ended', command: logs };
  return cause({
    code: codeOf(terminated),
    object: self,
    message: endText(status.name, terminated),
    since: finishedAt ?? undefined,
    facts: [...(message === '' ? [] : [message.trimEnd()]), ...lines],
    cure,
    because: await rebootCauses(pod, terminated, evidence),
  });
}

/** `container web ended with exit code 137 (SIGKILL): out of memory`. */
export function endText(name: string, terminated: ContainerStateTerminated): string {
  const { reason = '', exitCode } = terminated;
  return reason === 'ContainerStatusUnknown'
    ? `how container ${name} ended is not known: the runtime has no trace of it, as after a restart of its node`
    : `container ${name} ended with exit code ${exitCode}${signalText(terminated)}${reason === 'OOMKilled' ? ': out of memory' : ''}`;
}

function codeOf({ reason = '', exitCode }: ContainerStateTerminated): string {
  if (reason === 'OOMKilled') return 'OutOfMemory';
  if (reason === 'ContainerStatusUnknown') return reason;
  if (reason === 'StartError' || reason === 'ContainerCannotRun') return 'ContainerCannotStart';
  return exitCode > SIGNAL_BASE && SIGNALS[exitCode - SIGNAL_BASE] !== undefined ? 'KilledBySignal' : 'ContainerExited';
}

function signalText({ exitCode, signal }: ContainerStateTerminated): string {
  const number = signal !== undefined && signal > 0 ? signal : exitCode - SIGNAL_BASE;
  const name = SIGNALS[number];
  return name === undefined ? '' : ` (${name})`;
}

/** The last lines of its log, where there are some. */
async function lastLines(pod: Pod, { status, previous }: ContainerEnd, evidence: Evidence): Promise<readonly string[]> {
  const { namespace = '', name = '' } = pod.metadata;
  const query = `container=${encodeURIComponent(status.name)}&tailLines=${LOG_LINES}&limitBytes=${LOG_BYTES}${previous ? '&previous=true' : ''}`;
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/log?${query}`;
  const text = await evidence.text(`log of ${status.name} of pod/${namespace}/${name}`, path);
  return (text ?? '').split('\n').filter((line) => line !== '');
}
