/**
 * VolumeRestrictions: a ReadWriteOncePod claim serves one pod at a time, and some disks are not shared by pods of one
 * node. Upstream: plugins/volumerestrictions (disks: disk-conflict.ts).
 */
import type { PersistentVolumeClaim, Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import { CountedPods, podsText } from '../../framework/lack-texts.ts';
import { createNodeCounts } from '../../framework/node-counts.ts';
import type { CycleState, PodChange, SchedulerPlugin } from '../../framework/plugin.ts';
import { unresolvable, unschedulable } from '../../framework/status.ts';
import { claimsOf, type FindClaim, type PodClaim } from '../../framework/pod-claims.ts';
import { disksConflict, hasExclusiveDisk } from './disk-conflict.ts';

const NAME = 'VolumeRestrictions';
/** The key in the state under which an explanation keeps the users of the pod's claims, the same for all nodes. */
const USERS = `${NAME}/users`;
const DISK_CONFLICT = unschedulable(NAME, 'node(s) had no available disk');
const CLAIM_CONFLICT = unschedulable(
  NAME,
  'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode',
);

interface PreFilterState {
  readonly names: ReadonlySet<string>;
  readonly conflicts: number;
}

export function createVolumeRestrictions(findClaim: FindClaim): SchedulerPlugin {
  const counts = createNodeCounts();
  const change = (state: CycleState, pod: Stored<Pod>, { other, by }: { other: Stored<Pod>; by: number }): void => {
    const { names, conflicts } = state.get(NAME) as PreFilterState;
    if (usesClaims(other, pod.metadata.namespace, names))
      state.set(NAME, { names, conflicts: conflicts + by } satisfies PreFilterState);
  };
  return {
    name: NAME,
    preFilter(state, pod, snapshot) {
      const names = new Set<string>();
      for (const { name } of namedClaimsOf(pod)) {
        const claim = findClaim(pod.metadata.namespace, name);
        if (claim === undefined) return unresolvable(NAME, `persistentvolumeclaim "${name}" not found`);
        if (claim.spec?.accessModes?.includes('ReadWriteOncePod') === true) names.add(name);
      }
      if (names.size === 0 && !hasExclusiveDisk(pod)) return { code: 'skip', reasons: [], plugin: NAME };
      const namespace = pod.metadata.namespace;
      if (names.size === 0) {
        state.set(NAME, { names, conflicts: 0 } satisfies PreFilterState);
        return undefined;
      }
      const count = counts.of(`${namespace}|${[...names].sort().join(',')}`, (other) =>
        usesClaims(other, namespace, names),
      );
      state.set(NAME, {
        names,
        conflicts: snapshot.nodes.reduce((sum, node) => sum + count(node), 0),
      } satisfies PreFilterState);
      return undefined;
    },
    filter(state, pod, node) {
      if ((state.get(NAME) as PreFilterState).conflicts > 0) return CLAIM_CONFLICT;
      if (!hasExclusiveDisk(pod)) return undefined;
      return node.pods.values().some((other) => disksConflict(pod, other)) ? DISK_CONFLICT : undefined;
    },
    async prepareExplain(state, pod, { nodes }, turns) {
      const { names } = state.get(NAME) as PreFilterState;
      if (names.size === 0) return;
      const users = new CountedPods();
      for (const node of nodes) {
        for (const other of node.pods.values())
          if (usesClaims(other, pod.metadata.namespace, names)) users.add(other, node.name);
        await turns.next();
      }
      if (users.count > 0) state.set(USERS, `claim ${[...names].join(', ')} is used by ${users}`);
    },
    explain(state, pod, node) {
      const users = state.get(USERS) as string | undefined;
      const disks = hasExclusiveDisk(pod) ? podsText([node], (other) => disksConflict(pod, other)) : undefined;
      return [
        ...(users === undefined ? [] : [users]),
        ...(disks === undefined ? [] : [`the same disk is used by ${disks}`]),
      ].map((what) => ({ what, distance: 1 }));
    },
    addPod: (state, pod, { other }: PodChange) => change(state, pod, { other, by: 1 }),
    removePod: (state, pod, { other }: PodChange) => change(state, pod, { other, by: -1 }),
    cloneState: (value) => value,
    events: [
      { event: 'assigned-pod/delete', hint: (pod, gone) => mayConflict(pod, gone as Stored<Pod>) },
      {
        event: 'persistent-volume-claim/add',
        hint: (pod, _old, now) => isNamedBy(pod, now as Stored<PersistentVolumeClaim>),
      },
      { event: 'node/add' },
    ],
  };
}

/** Whether the other pod used a disk or claim that the pod waits for. */
function mayConflict(pod: Stored<Pod>, other: Stored<Pod>): boolean {
  const names = new Set(namedClaimsOf(pod).map(({ name }) => name));
  return usesClaims(other, pod.metadata.namespace, names) || disksConflict(pod, other);
}

function usesClaims(other: Stored<Pod>, namespace: string | undefined, names: ReadonlySet<string>): boolean {
  return other.metadata.namespace === namespace && namedClaimsOf(other).some((claim) => names.has(claim.name));
}

/**
 * Claims that the pod names. Claims of ephemeral volumes are used by no other pod, and VolumeBinding waits until they
 * exist.
 */
function namedClaimsOf(pod: Stored<Pod>): PodClaim[] {
  return claimsOf(pod).filter(({ isEphemeral }) => !isEphemeral);
}

function isNamedBy(pod: Stored<Pod>, { metadata }: Stored<PersistentVolumeClaim>): boolean {
  return usesClaims(pod, metadata.namespace, new Set([metadata.name]));
}
