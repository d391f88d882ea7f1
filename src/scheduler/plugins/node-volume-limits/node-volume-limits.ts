/**
 * NodeVolumeLimits: a node gets no more volumes of a CSI driver than the driver reports as its limit. A volume that
 * two pods share counts once; a volume that is still attached counts although its pod is gone. Upstream:
 * plugins/nodevolumelimits/csi.go.
 */
import type { PersistentVolumeClaim, Pod } from '../../../api/gen/core-v1.ts';
import type { CSINode } from '../../../api/gen/storage-v1.ts';
import type { Stored } from '../../../api/object.ts';
import type { NodeInfo } from '../../cache/node-info.ts';
import type { ClusterObjects } from '../../framework/plugin-deps.ts';
import type { SchedulerPlugin } from '../../framework/plugin.ts';
import { claimsOf, isOwnClaim } from '../../framework/pod-claims.ts';
import { unschedulable } from '../../framework/status.ts';

const NAME = 'NodeVolumeLimits';
const TOO_MANY = unschedulable(NAME, 'node(s) exceed max volume count');

/** The driver by the volume's unique name. */
type Volumes = ReadonlyMap<string, string>;

export type VolumeLimitsDeps = Pick<ClusterObjects, 'claim' | 'volume' | 'storageClass' | 'csiNode' | 'attachmentsTo'>;

export function createNodeVolumeLimits(deps: VolumeLimitsDeps): SchedulerPlugin {
  return {
    name: NAME,
    preFilter(state, pod) {
      const wanted = volumesOf(deps, pod);
      if (wanted.size === 0) return { code: 'skip', reasons: [], plugin: NAME };
      state.set(NAME, wanted);
      return undefined;
    },
    filter: (state, _pod, node) =>
      beyondLimits(deps, state.get(NAME) as Volumes, node).length > 0 ? TOO_MANY : undefined,
    explain: (state, _pod, node) =>
      beyondLimits(deps, state.get(NAME) as Volumes, node).map(({ driver, count, limit }) => ({
        what: `driver ${driver}: with its volumes there would be ${count}, and the node takes ${limit}`,
        distance: count - limit,
      })),
    // Beyond upstream's: a node whose drivers have not registered has no limits yet.
    events: [
      { event: 'node/add' },
      { event: 'csi-node/add' },
      { event: 'csi-node/update', hint: (_pod, old, now) => allowsMore(old as CSINode, now as CSINode) },
      { event: 'assigned-pod/delete', hint: (_pod, gone) => claimsOf(gone as Stored<Pod>).length > 0 },
      { event: 'volume-attachment/delete', hint: (pod) => claimsOf(pod).length > 0 },
      { event: 'persistent-volume-claim/add', hint: (pod, _old, now) => isOwnClaim(pod, now) },
    ],
  };
}

/** Drivers whose limit the node would exceed. */
function beyondLimits(
  deps: VolumeLimitsDeps,
  wanted: Volumes,
  node: NodeInfo,
): { driver: string; count: number; limit: number }[] {
  const limits = limitsOf(deps.csiNode(node.name));
  if (limits.size === 0) return [];
  const present = volumesAt(deps, node);
  const coming = [...wanted].filter(([volume]) => !present.has(volume)).map(([, driver]) => driver);
  const counts = new Map<string, number>();
  for (const driver of [...present.values(), ...coming]) counts.set(driver, (counts.get(driver) ?? 0) + 1);
  return [...new Set(coming)].flatMap((driver) => {
    const count = counts.get(driver) ?? 0;
    const limit = limits.get(driver) ?? Infinity;
    return count > limit ? [{ driver, count, limit }] : [];
  });
}

/** Whether a driver's limit was raised or removed. */
function allowsMore(old: CSINode, now: CSINode): boolean {
  const after = limitsOf(now);
  return limitsOf(old)
    .entries()
    .some(([driver, limit]) => (after.get(driver) ?? Infinity) > limit);
}

function limitsOf(node: CSINode | undefined): Map<string, number> {
  const limits = new Map<string, number>();
  for (const { name, allocatable } of node?.spec.drivers ?? [])
    if (allocatable?.count !== undefined) limits.set(name, allocatable.count);
  return limits;
}

function volumesOf(deps: VolumeLimitsDeps, pod: Stored<Pod>): Volumes {
  const volumes = new Map<string, string>();
  for (const { name } of claimsOf(pod)) {
    const claim = deps.claim(pod.metadata.namespace, name);
    const volume = claim === undefined ? undefined : csiVolumeOf(deps, claim);
    if (volume !== undefined) volumes.set(`${volume.driver}/${volume.handle}`, volume.driver);
  }
  return volumes;
}

/** The volumes of the node's pods, and attached volumes of pods that are gone. */
function volumesAt(deps: VolumeLimitsDeps, node: NodeInfo): Volumes {
  const volumes = new Map<string, string>();
  for (const pod of node.pods.values())
    for (const [volume, driver] of volumesOf(deps, pod)) volumes.set(volume, driver);
  for (const { attacher, source } of deps.attachmentsTo(node.name).map(({ spec }) => spec)) {
    const csi = deps.volume(source.persistentVolumeName ?? '')?.spec?.csi;
    if (csi !== undefined) volumes.set(`${attacher}/${csi.volumeHandle}`, attacher);
  }
  return volumes;
}

/** The volume of a claim. An unbound claim counts as a volume of its class's provisioner. */
function csiVolumeOf(
  deps: VolumeLimitsDeps,
  claim: PersistentVolumeClaim,
): { driver: string; handle: string } | undefined {
  const volumeName = claim.spec?.volumeName ?? '';
  if (volumeName !== '') {
    const csi = deps.volume(volumeName)?.spec?.csi;
    return csi === undefined ? undefined : { driver: csi.driver, handle: csi.volumeHandle };
  }
  const driver = deps.storageClass(claim.spec?.storageClassName ?? '')?.provisioner;
  return driver === undefined ? undefined : { driver, handle: `${claim.metadata.namespace}/${claim.metadata.name}` };
}
