/** Reports how the last runs of restarted containers ended, for a pod that is healthy. */
import { Pods } from '../../api/gen/resources.ts';
import type { ContainerStatus, Pod } from '../../api/gen/core-v1.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause } from '../explanation.ts';
import { inNamespace, nameOfObject } from '../object-name.ts';
import { containerEndCauses, endText } from './termination.ts';

/** The limit of containers that are listed. */
const MAX_LISTED = 3;

export async function restartNotes(pod: Pod, evidence: Evidence): Promise<readonly Cause[]> {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  const restarted = [...initContainerStatuses, ...containerStatuses].filter(
    ({ restartCount, lastState }) => restartCount > 0 && lastState?.terminated !== undefined,
  );
  const notes: Cause[] = [];
  for (const status of restarted.slice(0, MAX_LISTED)) notes.push(await restartNote(pod, status, evidence));
  return notes;
}

async function restartNote(
  pod: Pod,
  { name, restartCount, lastState }: ContainerStatus,
  evidence: Evidence,
): Promise<Cause> {
  const object = nameOfObject(Pods, pod);
  const terminated = lastState!.terminated!;
  return cause({
    code: 'Restarted',
    object,
    message: `container ${name} has been restarted ${restartCount} ${restartCount === 1 ? 'time' : 'times'}: ${endText(name, terminated)}`,
    since: terminated.finishedAt ?? undefined,
    cure: {
      text: 'read what it said before it ended',
      command: `kubectl logs ${object.name}${inNamespace(object)} -c ${name} --previous`,
    },
    because: await containerEndCauses(pod, { name, terminated }, evidence),
  });
}
