/**
 * Going back to an earlier revision by the annotation that the API of early releases became. Pure. Upstream:
 * controller/deployment rollback.go. Clients of today change the template themselves (`kubectl rollout undo`).
 */
import type { Deployment, ReplicaSet } from '../../api/gen/apps-v1.ts';
import { compareRevisions, parseRevision, revisionOf, rolledBackAnnotations, ROLLBACK_TO } from './annotations.ts';
import { equalIgnoringHash, HASH_LABEL } from './replica-sets.ts';

/** The object to write, and the event to record once it is written. */
export interface Rollback {
  /** Without the rollback annotation, whether the rollback was possible or not. */
  readonly deployment: Deployment;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** The revision that is asked for, 0 for the one before; undefined when none is. */
export function rollbackRevision({ metadata }: Deployment): bigint | undefined {
  return parseRevision(metadata.annotations?.[ROLLBACK_TO]);
}

/** Plans a rollback to the revision (0: the one before), if a ReplicaSet of it exists and its template differs. */
export function planRollback(deployment: Deployment, sets: readonly ReplicaSet[], wanted: bigint): Rollback {
  const warning = (reason: string, message: string): Rollback => ({
    deployment: withoutRollbackAnnotation(deployment),
    type: 'Warning',
    reason: `DeploymentRollback${reason}`,
    message,
  });
  const revision = wanted === 0n ? lastRevision(sets) : wanted;
  if (revision === 0n) return warning('RevisionNotFound', 'Unable to find last revision.');
  const set = sets.find((each) => revisionOf(each) === revision);
  if (set === undefined) return warning('RevisionNotFound', 'Unable to find the revision to rollback to.');
  const { name } = deployment.metadata;
  if (equalIgnoringHash(deployment.spec?.template, set.spec?.template))
    return warning(
      'TemplateUnchanged',
      `The rollback revision contains the same template as current deployment ${JSON.stringify(name)}`,
    );
  return {
    deployment: rolledBack(deployment, set),
    type: 'Normal',
    reason: 'DeploymentRollback',
    message: `Rolled back deployment ${JSON.stringify(name)} to revision ${revision}`,
  };
}

/** The second highest; 0 without one. */
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
