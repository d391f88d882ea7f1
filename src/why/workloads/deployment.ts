/** Explains why the rollout of a deployment does not complete. */
import { isControlledBy } from '../../component-helpers/owner-references.ts';
import { Deployments, Pods, ReplicaSets } from '../../api/gen/resources.ts';
import type { Deployment, ReplicaSet } from '../../api/gen/apps-v1.ts';
import { formatLabelSelector } from '../../api/label-selector.ts';
import { formatTime } from '../../api/time.ts';
import { availableAtMs } from '../../component-helpers/pods.ts';
import { conditionOf } from '../conditions.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis } from '../explanation.ts';
import { inNamespace, nameOfObject } from '../object-name.ts';
import { diagnoseUnobserved } from './observed.ts';

const REVISION_ANNOTATION = 'deployment.kubernetes.io/revision';

export async function explainDeployment(deployment: Deployment, evidence: Evidence): Promise<Diagnosis> {
  const { spec, status = {} } = deployment;
  const wanted = spec?.replicas ?? 1;
  const { updatedReplicas = 0, availableReplicas = 0, replicas = 0 } = status;
  const summary = `has ${availableReplicas} of ${wanted} pods available, ${updatedReplicas} of the newest template`;
  const unobserved = diagnoseUnobserved(Deployments, deployment, evidence.nowMs);
  if (
    unobserved === undefined &&
    updatedReplicas >= wanted &&
    availableReplicas >= wanted &&
    replicas <= updatedReplicas
  )
    return { state: 'Fine', summary, causes: [] };
  const causes = [
    ...(unobserved?.causes ?? []),
    ...pausedCauses(deployment),
    ...(await setCauses(deployment, evidence)),
  ];
  if (causes.length === 0 && !isStuck(deployment))
    return { state: 'Progressing', summary, causes: await ripeningCauses(deployment, evidence) };
  return { state: 'Trouble', summary, causes: stuckCauses(deployment, causes) };
}

function pausedCauses(deployment: Deployment): readonly Cause[] {
  if (deployment.spec?.paused !== true) return [];
  const object = nameOfObject(Deployments, deployment);
  return [
    cause({
      code: 'RolloutPaused',
      object,
      message: 'its rollout is paused',
      cure: { text: 'resume it', command: `kubectl rollout resume deployment ${object.name}${inNamespace(object)}` },
    }),
  ];
}

/** The causes of its newest replica set. */
async function setCauses(deployment: Deployment, evidence: Evidence): Promise<readonly Cause[]> {
  const { namespace = '' } = deployment.metadata;
  const sets = (await evidence.list(ReplicaSets, { namespace })).filter((set) => isControlledBy(set, deployment));
  const newest = sets.toSorted((a, b) => revisionOf(b) - revisionOf(a))[0];
  return newest === undefined ? [] : evidence.causesOf(ReplicaSets, newest);
}

function revisionOf({ metadata }: ReplicaSet): number {
  return Number(metadata.annotations?.[REVISION_ANNOTATION] ?? 0);
}

/** Pods that are ready, but for less than `minReadySeconds`. */
async function ripeningCauses(deployment: Deployment, evidence: Evidence): Promise<readonly Cause[]> {
  const { minReadySeconds = 0, selector } = deployment.spec ?? {};
  if (minReadySeconds === 0) return [];
  const { namespace = '' } = deployment.metadata;
  const pods = await evidence.list(Pods, { namespace, labelSelector: formatLabelSelector(selector) });
  const nextMs = pods
    .map((pod) => availableAtMs(pod, minReadySeconds))
    .filter((ms) => ms > evidence.nowMs && Number.isFinite(ms))
    .toSorted((a, b) => a - b)[0];
  if (nextMs === undefined) return [];
  return [
    cause({
      code: 'MinReadySeconds',
      object: nameOfObject(Deployments, deployment),
      message: `pods that are ready count as available after minReadySeconds ${minReadySeconds}`,
      nextTry: formatTime(nextMs),
      cure: { text: 'wait, or lower spec.minReadySeconds' },
    }),
  ];
}

function isStuck(deployment: Deployment): boolean {
  const condition = conditionOf(deployment, 'Progressing');
  return condition?.status === 'False' && condition.reason === 'ProgressDeadlineExceeded';
}

/** A rollout past its deadline is the first cause, followed by what delays it. */
function stuckCauses(deployment: Deployment, causes: readonly Cause[]): readonly Cause[] {
  const condition = conditionOf(deployment, 'Progressing');
  if (condition === undefined || !isStuck(deployment)) return causes;
  const object = nameOfObject(Deployments, deployment);
  return [
    cause({
      code: 'ProgressDeadlineExceeded',
      object,
      message: `its rollout has made no progress for ${deployment.spec?.progressDeadlineSeconds ?? 600} s`,
      since: condition.lastTransitionTime ?? undefined,
      facts: condition.message === undefined ? [] : [condition.message],
      cure: {
        text: 'mend what is behind it, or go back to the revision before',
        command: `kubectl rollout undo deployment ${object.name}${inNamespace(object)}`,
      },
      because: causes,
    }),
  ];
}
