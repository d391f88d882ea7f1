/**
 * Rolls back to an earlier revision by an annotation, into which the rollback API of early releases is converted.
 * Pure. Upstream: controller/deployment rollback.go. Current clients change the template themselves (`kubectl rollout
 * undo`).
 */
import type { Deployment, ReplicaSet } from '../../api/gen/apps-v1.ts';
import { compareRevisions, parseRevision, revisionOf, rolledBackAnnotations, ROLLBACK_TO } from './annotations.ts';
import { equalIgnoringHash, HASH_LABEL } from './replica-sets.ts';

/** Reasons of warnings about a rollback that is not possible. */
export type RollbackWarning = 'DeploymentRollbackRevisionNotFound' | 'DeploymentRollbackTemplateUnchanged';

/** The object to write, and the event to record once it is written. */
export type Rollback = {
  /** Its rollback annotation is removed, whether the rollback was possible or not. */
  readonly deployment: Deployment;
  readonly message: string;
} & (
  | { readonly type: 'Normal'; readonly reason: 'DeploymentRollback' }
  | { readonly type: 'Warning'; readonly reason: RollbackWarning }
);

/** The requested revision, 0 for the previous one; undefined when none is requested. */
export function rollbackRevision({ metadata }: Deployment): bigint | undefined {
  return parseRevision(metadata.annotations?.[ROLLBACK_TO]);
}

/** Plans a rollback to the revision (0: the previous one), if it has a ReplicaSet with a different template. */
export function planRollback(deployment: Deployment, sets: readonly ReplicaSet[], wanted: bigint): Rollback {
  const warning = (reason: RollbackWarning, message: string): Rollback => ({
    deployment: withoutRollbackAnnotation(deployment),
    type: 'Warning',
    reason,
    message,
  });
  const revision = wanted === 0n ? lastRevision(sets) : wanted;
  if (revision === 0n) return warning('DeploymentRollbackRevisionNotFound', 'Unable to find last revision.');
  const set = sets.find((each) => revisionOf(each) === revision);
  if (set === undefined)
    return warning('DeploymentRollbackRevisionNotFound', 'Unable to find the revision to rollback to.');
  const { name } = deployment.metadata;
  if (equalIgnoringHash(deployment.spec?.template, set.spec?.template))
    return warning(
      'DeploymentRollbackTemplateUnchanged',
      `The rollback revision contains the same template as current deployment ${JSON.stringify(name)}`,
    );
  return {
    deployment: rolledBack(deployment, set),
    type: 'Normal',
    reason: 'DeploymentRollback',
    message: `Rolled back deployment ${JSON.stringify(name)} to revision ${revision}`,
  };
}

/** The second highest revision; 0 without one. */
function lastRevision(sets: readonly ReplicaSet[]): bigint {
  const second = [...sets].sort(compareRevisions).at(-2);
  return second === undefined ? 0n : revisionOf(second);
}

function withoutRollbackAnnotation(deployment: Deployment): Deployment {
  const { [ROLLBACK_TO]: _, ...annotations } = deployment.metadata.annotations ?? {};
  return { ...deployment, metadata: { ...deployment.metadata, annotations } };
}

function rolledBack(deployment: Deployment, set: ReplicaSet): Deployment {
  const { [HASH_LABEL]: _, ...labels } = set.spec?.template?.metadata?.labels ?? {};
  const template = { ...set.spec?.template, metadata: { ...set.spec?.template?.metadata, labels } };
  const { metadata } = withoutRollbackAnnotation(deployment);
  return {
    ...deployment,
    metadata: { ...metadata, annotations: rolledBackAnnotations(metadata.annotations ?? {}, set) },
    spec: { ...deployment.spec, template } as NonNullable<Deployment['spec']>,
  };
}
