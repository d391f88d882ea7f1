import { Deployments, ReplicaSets } from '../../api/gen/resources.ts';
import { ownedBy, type ExclusiveWrites } from '../exclusive-write.ts';

/** Its status and revision, and the sizes of its sets. */
export const deploymentWrites: ExclusiveWrites = {
  account: 'deployment-controller',
  writes: [
    { resource: Deployments, fields: [['status'], ['metadata', 'annotations', 'deployment.kubernetes.io/revision']] },
    { resource: ReplicaSets, creates: true, fields: [['spec', 'replicas']], where: ownedBy('Deployment') },
  ],
};
