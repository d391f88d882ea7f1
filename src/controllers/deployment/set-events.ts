/** Enqueues the Deployments that changes of ReplicaSets and pods concern. Upstream: DeploymentController's handlers. */
import type { Deployment, ReplicaSet } from '../../api/gen/apps-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { compileLabelSelector } from '../../api/label-selector.ts';
import type { Stored } from '../../api/object.ts';
import { type Informer, onEveryChange } from '../../client/informer.ts';
import { keyOfObject } from '../../client/object-store.ts';
import { controllerOf } from '../../component-helpers/owner-references.ts';
import { type SelectingDeps, SelectingOwners } from '../selecting-owners.ts';

export function watchSets(deps: {
  readonly deployments: Informer<Deployment>;
  readonly sets: Informer<ReplicaSet>;
  readonly pods: Informer<Pod>;
  readonly platform: SelectingDeps<Deployment, ReplicaSet>['platform'];
  enqueue(key: string): void;
}): void {
  const { deployments, sets, platform, enqueue } = deps;

  function enqueueOwner(set: Stored<ReplicaSet> | undefined): void {
    const reference = set === undefined ? undefined : controllerOf(set);
    if (set === undefined || reference?.kind !== 'Deployment') return;
    const owner = deployments.get({ namespace: set.metadata.namespace, name: reference.name });
    if (owner?.metadata.uid === reference.uid) enqueue(keyOfObject(owner));
  }
  const selecting = new SelectingOwners<Deployment, ReplicaSet>({
    platform,
    owners: deployments,
    selectorOf: ({ spec }) => compileLabelSelector(spec?.selector),
    found: enqueue,
  });

  deployments.addHandler(onEveryChange((deployment) => enqueue(keyOfObject(deployment))));
  sets.addHandler({
    onAdd: (set) => (controllerOf(set) === undefined ? selecting.find(set) : enqueueOwner(set)),
    onUpdate(old, set) {
      const moved = controllerOf(old)?.uid !== controllerOf(set)?.uid;
      if (moved) enqueueOwner(old);
      if (controllerOf(set) !== undefined) enqueueOwner(set);
      else if (moved || old.metadata.labels !== set.metadata.labels) selecting.find(set);
    },
    onDelete: enqueueOwner,
  });
  // Recreate waits until the last old pod is deleted.
  deps.pods.addHandler({
    onDelete(pod) {
      const reference = controllerOf(pod);
      if (reference?.kind !== 'ReplicaSet') return;
      enqueueOwner(sets.get({ namespace: pod.metadata.namespace, name: reference.name }));
    },
  });
}
