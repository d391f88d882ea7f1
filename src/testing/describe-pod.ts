/** Describes pods in the error of a failed wait: conditions, containers, how they ended, and their last log lines. */
import type { ContainerStatus, Pod } from '../api/gen/core-v1.ts';
import { errorMessage } from '../base/errors.ts';
import type { Client } from '../client/client.ts';

const LAST_LINES = 5;
/** The limit of pods, and of containers, whose log is shown. */
const MAX_LOGS = 3;

/** A pod in a few lines. */
export function describePod({ metadata, spec, status }: Pod): string {
  const conditions = (status?.conditions ?? []).filter(({ status: holds }) => holds !== 'True');
  return [
    `${metadata.name}: ${status?.phase ?? 'no status'}${metadata.deletionTimestamp === undefined ? '' : ', terminating'} on ${spec?.nodeName ?? 'no node'}`,
    ...conditions.map(({ type, status: holds, reason = '', message = '' }) =>
      `  ${type}=${holds} ${reason} ${message}`.trimEnd(),
    ),
    ...containersOf({ metadata, spec, status }).map(describeContainer),
  ].join('\n');
}

function containersOf({ status }: Pod): readonly ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

function describeContainer({ name, ready, restartCount, state, lastState }: ContainerStatus): string {
  const { terminated } = lastState ?? {};
  const before =
    terminated === undefined
      ? ''
      : `, before that: exit code ${terminated.exitCode} ${terminated.reason ?? ''} at ${terminated.finishedAt ?? ''}${terminated.message === undefined || terminated.message === '' ? '' : ` (${terminated.message.trim()})`}`;
  return `  container ${name}: ready=${ready} restarts=${restartCount} ${describeState(state)}${before}`;
}

function describeState({ waiting, running, terminated }: NonNullable<ContainerStatus['state']> = {}): string {
  if (waiting !== undefined) return `waiting: ${waiting.reason ?? ''} ${waiting.message ?? ''}`.trimEnd();
  if (running !== undefined) return `running since ${running.startedAt ?? ''}`;
  if (terminated === undefined) return 'not started';
  const { exitCode, reason = '', message = '' } = terminated;
  return `ended with exit code ${exitCode} ${reason} ${message.trim()}`.trimEnd();
}

/** The last log lines of containers that are not ready or were restarted. */
export async function describeLogs(pods: readonly Pod[], client: Client): Promise<string[]> {
  const troubled = pods.flatMap((pod) =>
    containersOf(pod)
      .filter(
        ({ ready, restartCount, started, lastState, state }) =>
          (!ready || restartCount > 0) &&
          (started === true || lastState?.terminated !== undefined || state?.terminated !== undefined),
      )
      .map((status) => ({ pod, status })),
  );
  return Promise.all(troubled.slice(0, MAX_LOGS).map(({ pod, status }) => describeLog(pod, status, client)));
}

async function describeLog({ metadata }: Pod, { name, state }: ContainerStatus, client: Client): Promise<string> {
  const previous = state?.waiting === undefined ? '' : '&previous=true';
  const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}/log?container=${name}&tailLines=${LAST_LINES}${previous}`;
  const head = `last lines of ${metadata.name}, container ${name}`;
  try {
    const { body } = await client.raw({ path });
    const text = Buffer.from(body).toString('utf8').trimEnd();
    return text === '' ? `${head}: it logged nothing` : `${head}:\n${text.replace(/^/gm, '  | ')}`;
  } catch (error) {
    return `${head} cannot be read: ${errorMessage(error)}`;
  }
}
