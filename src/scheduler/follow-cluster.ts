/**
 * Feeds the cache and the queue from the informers, and turns changes into the events that wake waiting pods. Upstream:
 * addAllEventHandlers, updatePodInSchedulingQueue and their like in eventhandlers.go.
 */
import type { Node, Pod } from '../api/gen/core-v1.ts';
import type { Stored } from '../api/object.ts';
import { deepEqual } from '../base/equal.ts';
import type { Informer } from '../client/informer.ts';
import { podRequests } from '../component-helpers/pod-resources.ts';
import { isPodTerminal } from '../component-helpers/pods.ts';
import type { SchedulerCache } from './cache/scheduler-cache.ts';
import type { Nominator } from './framework/nominations.ts';
import type { ClusterEvent } from './queue/cluster-event.ts';
import type { SchedulingQueue } from './queue/contract.ts';

export interface FollowDeps {
  readonly nodes: Informer<Node>;
  readonly pods: Informer<Pod>;
  readonly cache: SchedulerCache;
  readonly queue: SchedulingQueue;
  readonly nominations: Nominator;
  /** Whether a profile of this scheduler is responsible for the pod. */
  readonly ownPods: (pod: Stored<Pod>) => boolean;
}

/** Registers the handlers; the result waits until the informers have synced. */
export function followCluster(deps: FollowDeps): (signal: AbortSignal) => Promise<void> {
  followNodes(deps);
  followPods(deps);
  return async (signal) => {
    await deps.nodes.waitForSync(signal);
    await deps.pods.waitForSync(signal);
  };
}

function followNodes({ nodes, cache, queue }: FollowDeps): void {
  nodes.addHandler({
    onAdd(node) {
      cache.addNode(node);
      queue.notify('node/add', undefined, node);
    },
    onUpdate(old, node) {
      cache.updateNode(node);
      for (const event of nodeChanges(old, node)) queue.notify(event, old, node);
    },
    onDelete(node) {
      cache.removeNode(node.metadata.name);
      queue.notify('node/delete', node, undefined);
    },
  });
}

/** The changes of a node that matter to scheduling. Pure. */
export function nodeChanges(old: Stored<Node>, node: Stored<Node>): ClusterEvent[] {
  const changes: ClusterEvent[] = [];
  if (!deepEqual(old.status?.allocatable, node.status?.allocatable)) changes.push('node/update-allocatable');
  if (!deepEqual(old.metadata.labels, node.metadata.labels)) changes.push('node/update-label');
  if (!deepEqual(old.spec?.taints, node.spec?.taints) || old.spec?.unschedulable !== node.spec?.unschedulable)
    changes.push('node/update-taint');
  const conditions = (n: Stored<Node>): unknown => n.status?.conditions?.map((c) => [c.type, c.status]);
  if (!deepEqual(conditions(old), conditions(node))) changes.push('node/update-condition');
  if (!deepEqual(old.status?.declaredFeatures, node.status?.declaredFeatures))
    changes.push('node/update-declared-feature');
  return changes;
}

function followPods({ pods, cache, queue, nominations, ownPods }: FollowDeps): void {
  const assigned = (pod: Stored<Pod>): boolean => (pod.spec?.nodeName ?? '') !== '' && !isPodTerminal(pod);
  const pending = (pod: Stored<Pod>): boolean =>
    (pod.spec?.nodeName ?? '') === '' && !isPodTerminal(pod) && ownPods(pod);
  const leave = (pod: Stored<Pod>): void => {
    nominations.delete(pod.metadata.uid);
    if (assigned(pod)) {
      cache.removePod(pod);
      queue.notify('assigned-pod/delete', pod, undefined);
    } else {
      cache.forget(pod.metadata.uid);
      queue.remove(pod.metadata.uid);
    }
  };
  pods.addHandler({
    onAdd(pod) {
      if (assigned(pod)) {
        cache.addPod(pod);
        queue.notify('assigned-pod/add', undefined, pod);
      } else if (pending(pod)) {
        nominations.follow(pod);
        queue.add(pod);
      }
    },
    onUpdate(old, pod) {
      if (old.metadata.uid !== pod.metadata.uid) leave(old);
      if (!pending(pod)) nominations.delete(pod.metadata.uid);
      else if (!cache.isAssumed(pod.metadata.uid)) followNomination(nominations, old, pod);
      if (assigned(pod)) {
        if (!assigned(old)) queue.remove(pod.metadata.uid);
        cache.updatePod(pod);
        if (!assigned(old)) queue.notify('assigned-pod/add', undefined, pod);
        else if (assignedPartChanged(old, pod)) queue.notify('assigned-pod/update', old, pod);
      } else if (assigned(old)) leave(old);
      else if (pending(pod) && !cache.isAssumed(pod.metadata.uid) && schedulingPartChanged(old, pod))
        queue.update(old, pod);
      else if (isPodTerminal(pod)) queue.remove(pod.metadata.uid);
    },
    onDelete: leave,
  });
}

/** A nomination that this scheduler made holds until the status changes, though it may not be written yet. */
function followNomination(nominations: Nominator, old: Stored<Pod>, pod: Stored<Pod>): void {
  const nominated = pod.status?.nominatedNodeName ?? '';
  if ((old.status?.nominatedNodeName ?? '') !== nominated) nominations.set(pod, nominated);
  else nominations.follow(pod);
}

/**
 * Whether a part of a running pod changed that the placement of others depends on. Most updates change the status
 * alone.
 */
function assignedPartChanged(old: Stored<Pod>, pod: Stored<Pod>): boolean {
  return (
    !deepEqual(old.metadata.labels, pod.metadata.labels) ||
    !deepEqual(podRequests(old).requests, podRequests(pod).requests) ||
    (old.metadata.deletionTimestamp === undefined) !== (pod.metadata.deletionTimestamp === undefined)
  );
}

/**
 * Whether a pending pod's update may make it schedulable. Status updates, such as its own condition, do not, unless
 * they name claims made for it.
 */
function schedulingPartChanged(old: Stored<Pod>, pod: Stored<Pod>): boolean {
  const part = ({ spec, metadata, status }: Stored<Pod>): unknown => [
    spec,
    metadata.labels,
    metadata.annotations,
    metadata.deletionTimestamp,
    status?.resourceClaimStatuses,
  ];
  return !deepEqual(part(old), part(pod));
}
