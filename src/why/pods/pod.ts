/** Explains why a pod does not run, is not ready, or is not removed. */
import type { Pod } from '../../api/gen/core-v1.ts';
import { isPodReady, podCondition } from '../../component-helpers/pods.ts';
import type { Evidence } from '../evidence.ts';
import type { Cause, Diagnosis } from '../explanation.ts';
import { endingCauses } from './container-endings.ts';
import { containerCauses } from './containers.ts';
import { explainDeletion } from './deletion.ts';
import { endCauses } from './end.ts';
import { nodeCauses } from './node.ts';
import { pullingCauses } from './pulling.ts';
import { readinessCauses } from './readiness.ts';
import { resizeCauses } from './resize.ts';
import { restartNotes } from './restarts.ts';
import { sandboxCauses } from './sandbox.ts';
import { explainScheduling } from './scheduling.ts';
import { volumeCauses } from './volumes.ts';
import { appendAll } from '../../base/lists.ts';

type Check = (pod: Pod, evidence: Evidence) => Promise<readonly Cause[]>;

/** Checks of a pod with a node, in the order of the kubelet's steps. */
const checksOnNode: readonly Check[] = [
  nodeCauses,
  volumeCauses,
  sandboxCauses,
  containerCauses,
  readinessCauses,
  resizeCauses,
];

export async function explainPod(pod: Pod, evidence: Evidence): Promise<Diagnosis> {
  if (pod.metadata.deletionTimestamp !== undefined) return explainDeletion(pod, evidence);
  const phase = pod.status?.phase ?? 'Pending';
  if (phase === 'Succeeded')
    return { state: 'Fine', summary: 'ran to its end', causes: await earlyEndNotes(pod, evidence) };
  if (phase === 'Failed') return { state: 'Trouble', summary: 'has failed', causes: await endCauses(pod, evidence) };
  if ((pod.spec?.nodeName ?? '') === '') return explainScheduling(pod, evidence);
  const causes: Cause[] = [];
  for (const check of checksOnNode) appendAll(causes, await check(pod, evidence));
  const found = stateOf(pod, causes);
  if (found.state === 'Fine') return { ...found, causes: await restartNotes(pod, evidence) };
  return { ...found, causes: found.state === 'Progressing' ? await pullingCauses(pod, evidence) : causes };
}

/** Containers that exited with code 0 when the kubelet ended them because of a failed probe. */
async function earlyEndNotes(pod: Pod, evidence: Evidence): Promise<readonly Cause[]> {
  const notes: Cause[] = [];
  for (const { name, state } of pod.status?.containerStatuses ?? [])
    if (state?.terminated !== undefined)
      appendAll(notes, await endingCauses(pod, { name, terminated: state.terminated }, evidence));
  return notes;
}

function stateOf(pod: Pod, causes: readonly Cause[]): Pick<Diagnosis, 'state' | 'summary'> {
  const node = pod.spec?.nodeName ?? '';
  if (isPodReady(pod))
    return { state: causes.length === 0 ? 'Fine' : 'Trouble', summary: `runs on ${node} and is ready` };
  const summary =
    pod.status?.phase === 'Running'
      ? `runs on ${node} and is not ready`
      : `has a node, ${node}, and does not run yet${initText(pod)}`;
  return { state: causes.length === 0 ? stateWithoutCause(pod) : 'Trouble', summary };
}

/** The init container that must complete before the next one starts. */
function initText({ spec, status }: Pod): string {
  const awaited = status?.initContainerStatuses?.find(
    ({ name, state }) =>
      state?.running !== undefined &&
      spec?.initContainers?.find((container) => container.name === name)?.restartPolicy !== 'Always',
  );
  if (awaited === undefined) return '';
  return `: it waits for init container ${awaited.name}, which has been running since ${awaited.state?.running?.startedAt}`;
}

/** A pod that was bound just now is progressing. */
function stateWithoutCause(pod: Pod): 'Progressing' | 'Unknown' {
  const waits = (pod.status?.containerStatuses ?? []).some(({ state }) =>
    ['ContainerCreating', 'PodInitializing'].includes(state?.waiting?.reason ?? ''),
  );
  return waits || podCondition(pod, 'Initialized')?.status !== 'True' ? 'Progressing' : 'Unknown';
}
