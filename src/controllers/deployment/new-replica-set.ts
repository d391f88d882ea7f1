/**
 * Finds, updates or creates the ReplicaSet of a Deployment's current template, and sets its revision. Upstream:
 * controller/deployment sync.getNewReplicaSet, getAllReplicaSetsAndSyncRevision.
 */
import { deepEqual } from '../../base/equal.ts';
import { Deployments } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import type { Deployment, DeploymentCondition, ReplicaSet } from '../../api/gen/apps-v1.ts';
import type { Stored } from '../../api/object.ts';
import { errorMessage } from '../../base/errors.ts';
import { computePodTemplateHash } from '../../component-helpers/pod-template-hash.ts';
import { controllerOf, newControllerReference } from '../../component-helpers/owner-references.ts';
import { withCondition } from '../../component-helpers/workload-conditions.ts';
import { isNamespaceTerminating } from '../controller.ts';
import { maxRevision, newSetAnnotations, REVISION, withSizeAnnotations } from './annotations.ts';
import type { DeploymentWriter } from './deployment-writer.ts';
import { maxSurge, newSetReplicas, replicasOf } from './replica-math.ts';
import { equalIgnoringHash, HASH_LABEL, splitSets, type SetsOfDeployment } from './replica-sets.ts';
import { condition, hasProgressDeadline, progressing } from './status.ts';

/** A Deployment as last written, and its ReplicaSets. */
export interface Rollout extends SetsOfDeployment {
  readonly deployment: Stored<Deployment>;
}

export interface SetsContext {
  readonly writer: DeploymentWriter;
  readonly nowMs: () => number;
}

/** Splits the sets and updates the new one's annotations; with `create` it creates a missing one. */
export async function resolveSets(
  context: SetsContext,
  input: {
    readonly deployment: Stored<Deployment>;
    readonly sets: readonly Stored<ReplicaSet>[];
    readonly create: boolean;
  },
): Promise<Rollout> {
  const split = splitSets(input.deployment, input.sets);
  const revision = maxRevision(split.oldSets) + 1n;
  if (split.newSet !== undefined) return await refresh(context, { ...split, deployment: input.deployment }, revision);
  if (!input.create) return { ...split, deployment: input.deployment };
  return await createNewSet(context, { ...split, deployment: input.deployment }, revision);
}

async function refresh(context: SetsContext, rollout: Rollout, revision: bigint): Promise<Rollout> {
  const { deployment } = rollout;
  let newSet = rollout.newSet as Stored<ReplicaSet>;
  const annotations = newSetAnnotations(deployment, newSet.metadata.annotations ?? {}, revision);
  const minReadySeconds = deployment.spec?.minReadySeconds ?? 0;
  if (
    !deepEqual(annotations, newSet.metadata.annotations ?? {}) ||
    (newSet.spec?.minReadySeconds ?? 0) !== minReadySeconds
  ) {
    const spec = { ...newSet.spec, minReadySeconds } as NonNullable<ReplicaSet['spec']>;
    newSet = await context.writer.updateSet({ ...newSet, metadata: { ...newSet.metadata, annotations }, spec });
  }
  const found = { reason: 'FoundNewReplicaSet', message: `Found new replica set "${newSet.metadata.name}"` };
  const isNew = hasProgressDeadline(deployment) && progressing(deployment.status) === undefined;
  return {
    ...rollout,
    newSet,
    deployment: await recordRevision(context, deployment, { newSet, found: isNew ? found : undefined }),
  };
}

/** Copies the set's revision to the Deployment; `found` becomes its Progressing condition. */
async function recordRevision(
  { writer, nowMs }: SetsContext,
  deployment: Stored<Deployment>,
  {
    newSet,
    found,
  }: { readonly newSet: Stored<ReplicaSet>; readonly found?: { readonly reason: string; readonly message: string } },
): Promise<Stored<Deployment>> {
  let current = deployment;
  const revision = newSet.metadata.annotations?.[REVISION];
  if (revision !== undefined && current.metadata.annotations?.[REVISION] !== revision) {
    current = await writer.annotate(current, { [REVISION]: revision });
  }
  if (found === undefined) return current;
  return await setProgress(writer, current, condition({ type: 'Progressing', status: 'True', ...found }, nowMs()));
}

async function setProgress(
  writer: DeploymentWriter,
  deployment: Stored<Deployment>,
  progress: DeploymentCondition,
): Promise<Stored<Deployment>> {
  return await writer.updateStatus(deployment, {
    ...deployment.status,
    conditions: withCondition(deployment.status?.conditions, progress),
  });
}

function buildNewSet(rollout: Rollout, revision: bigint): ReplicaSet {
  const { deployment } = rollout;
  const spec = deployment.spec as NonNullable<Deployment['spec']>;
  const hash = computePodTemplateHash(spec.template, deployment.status?.collisionCount);
  const labels = { ...spec.template.metadata?.labels, [HASH_LABEL]: hash };
  const set: ReplicaSet = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${deployment.metadata.name}-${hash}`,
      namespace: deployment.metadata.namespace,
      ownerReferences: [newControllerReference(deployment, Deployments)],
      labels,
    },
    spec: {
      replicas: 0,
      ...(spec.minReadySeconds === undefined ? {} : { minReadySeconds: spec.minReadySeconds }),
      selector: { ...spec.selector, matchLabels: { ...spec.selector.matchLabels, [HASH_LABEL]: hash } },
      template: { ...spec.template, metadata: { ...spec.template.metadata, labels } },
    },
  };
  const replicas = newSetReplicas(deployment, [...rollout.oldSets, set], set);
  const desired = replicasOf(deployment);
  const annotations = withSizeAnnotations(
    newSetAnnotations(deployment, {}, revision),
    desired,
    desired + maxSurge(deployment),
  );
  return {
    ...set,
    metadata: { ...set.metadata, annotations },
    spec: { ...set.spec, replicas } as NonNullable<ReplicaSet['spec']>,
  };
}

async function createNewSet(context: SetsContext, rollout: Rollout, revision: bigint): Promise<Rollout> {
  const { writer } = context;
  const { deployment } = rollout;
  const wanted = buildNewSet(rollout, revision);
  let newSet: Stored<ReplicaSet>;
  let existed = false;
  try {
    newSet = await writer.createSet(wanted);
  } catch (error) {
    const existing = isReason(error, 'AlreadyExists') ? await sameSet(context, deployment, wanted) : undefined;
    if (existing === undefined) return await reportFailure(context, { deployment, wanted }, error);
    newSet = existing;
    existed = true;
  }
  const { name } = newSet.metadata;
  if (!existed && replicasOf(newSet) > 0) {
    writer.note(deployment, 'ScalingReplicaSet', `Scaled up replica set ${name} from 0 to ${replicasOf(newSet)}`);
  }
  const found = { reason: 'NewReplicaSetCreated', message: `Created new replica set "${name}"` };
  const note = !existed && hasProgressDeadline(deployment);
  return {
    ...rollout,
    newSet,
    deployment: await recordRevision(context, deployment, { newSet, found: note ? found : undefined }),
  };
}

/**
 * The set of that name if it belongs to the Deployment and has the same template (the cache was behind); undefined
 * after a hash collision.
 */
async function sameSet(
  { writer }: SetsContext,
  deployment: Stored<Deployment>,
  wanted: ReplicaSet,
): Promise<Stored<ReplicaSet> | undefined> {
  const existing = await writer.getSet(wanted.metadata.namespace ?? '', wanted.metadata.name ?? '');
  const ours = controllerOf(existing)?.uid === deployment.metadata.uid;
  if (ours && equalIgnoringHash(existing.spec?.template, deployment.spec?.template)) return existing;
  const collisionCount = (deployment.status?.collisionCount ?? 0) + 1;
  await writer.updateStatus(deployment, { ...deployment.status, collisionCount });
  return undefined;
}

async function reportFailure(
  { writer, nowMs }: SetsContext,
  { deployment, wanted }: { readonly deployment: Stored<Deployment>; readonly wanted: ReplicaSet },
  error: unknown,
): Promise<never> {
  // After a collision the next sync computes another hash; a terminating namespace deletes the Deployment anyway.
  if (!isReason(error, 'AlreadyExists') && !isNamespaceTerminating(error)) {
    const reason = 'ReplicaSetCreateError';
    const message = `Failed to create new replica set "${wanted.metadata.name}": ${errorMessage(error)}`;
    if (hasProgressDeadline(deployment)) {
      await setProgress(
        writer,
        deployment,
        condition({ type: 'Progressing', status: 'False', reason, message }, nowMs()),
      );
    }
    writer.warn(deployment, reason, message);
  }
  throw error;
}
