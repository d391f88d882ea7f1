/** All writes of the Deployment controller. Upstream: controller/deployment sync. */
import { Deployments, ReplicaSets } from '../../api/gen/resources.ts';
import { ignoreNotFound } from '../../api/status-error.ts';
import type { Deployment, DeploymentStatus, ReplicaSet } from '../../api/gen/apps-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import { equalStatus } from '../../component-helpers/wire-equality.ts';
import { withSizeAnnotations } from './annotations.ts';
import { maxSurge, replicasOf } from './replica-math.ts';
import type { RollbackWarning } from './rollback.ts';

/** Writes Deployments and their ReplicaSets. */
export interface DeploymentWriter {
  /**
   * Sets the set's size, and the Deployment's size in its annotations. Returns the written set; writes nothing when
   * nothing changes.
   */
  scale(deployment: Stored<Deployment>, set: Stored<ReplicaSet>, replicas: number): Promise<Stored<ReplicaSet>>;
  updateSet(set: ReplicaSet): Promise<Stored<ReplicaSet>>;
  createSet(set: ReplicaSet): Promise<Stored<ReplicaSet>>;
  getSet(namespace: string, name: string): Promise<Stored<ReplicaSet>>;
  /** Deletes the set. NotFound is no error. */
  deleteSet(set: Stored<ReplicaSet>): Promise<void>;
  /** Writes spec and annotations, unless the object changed since it was read. */
  update(deployment: Deployment): Promise<Stored<Deployment>>;
  annotate(deployment: Stored<Deployment>, annotations: Record<string, string>): Promise<Stored<Deployment>>;
  updateStatus(deployment: Stored<Deployment>, status: DeploymentStatus): Promise<Stored<Deployment>>;
  warn(
    deployment: Stored<Deployment>,
    reason: RollbackWarning | 'ReplicaSetCreateError' | 'SelectingAll',
    message: string,
  ): void;
  note(deployment: Stored<Deployment>, reason: 'DeploymentRollback' | 'ScalingReplicaSet', message: string): void;
}

/** Makes a writer whose calls end with `signal`. */
export function createDeploymentWriter(client: Client, recorder: EventRecorder, signal: AbortSignal): DeploymentWriter {
  const sets = client.resource(ReplicaSets);
  const deployments = client.resource(Deployments);
  return {
    async scale(deployment, set, replicas) {
      const desired = replicasOf(deployment);
      const before = replicasOf(set);
      const annotations = withSizeAnnotations(set.metadata.annotations, desired, desired + maxSurge(deployment));
      if (before === replicas && annotations === set.metadata.annotations) return set;
      const spec = { ...set.spec, replicas } as NonNullable<ReplicaSet['spec']>;
      const updated = await sets.update({ ...set, metadata: { ...set.metadata, annotations }, spec }, { signal });
      if (before !== replicas) {
        const direction = before < replicas ? 'up' : 'down';
        recorder.event(
          deployment,
          'Normal',
          'ScalingReplicaSet',
          `Scaled ${direction} replica set ${set.metadata.name} from ${before} to ${replicas}`,
        );
      }
      return updated;
    },
    updateSet: (set) => sets.update(set, { signal }),
    createSet: (set) => sets.create(set, { signal }),
    getSet: (namespace, name) => sets.get({ namespace, name }, { signal }),
    async deleteSet(set) {
      const { namespace, name, uid } = set.metadata;
      await sets.delete({ namespace, name }, { signal, preconditions: { uid } }).catch(ignoreNotFound);
    },
    update: (deployment) => deployments.update(deployment, { signal }),
    async annotate(deployment, annotations) {
      const { namespace, name } = deployment.metadata;
      return await deployments.patch(
        { namespace, name },
        { type: 'merge', patch: { metadata: { annotations } } },
        // Upstream writes the status only: other annotation changes would raise the generation without a change of
        // the spec.
        { subresource: 'status', signal },
      );
    },
    async updateStatus(deployment, status) {
      if (equalStatus(status, deployment.status)) return deployment;
      return await deployments.updateStatus({ ...deployment, status }, { signal });
    },
    warn: (deployment, reason, message) => recorder.event(deployment, 'Warning', reason, message),
    note: (deployment, reason, message) => recorder.event(deployment, 'Normal', reason, message),
  };
}
