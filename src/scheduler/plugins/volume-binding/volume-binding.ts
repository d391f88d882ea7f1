/**
 * VolumeBinding: claims must exist; those of Immediate classes must be bound; bound volumes must be reachable from
 * the node. Claims of WaitForFirstConsumer classes are bound for the chosen node, to an existing volume or by
 * provisioning, and the pod's binding waits for that. Volumes chosen for a pod are assumed until its claims are
 * bound. Upstream: plugins/volumebinding. Missing: scoring by capacity (`shape`).
 */
import type { Node, PersistentVolumeClaim, Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import { termText } from '../../../component-helpers/node-affinity.ts';
import { defaultArgs, type VolumeBindingArgs } from '../../config/plugin-args.ts';
import { MAX_LISTED } from '../../framework/lack-texts.ts';
import type { CycleState, Lack, SchedulerPlugin } from '../../framework/plugin.ts';
import { unresolvable, type Status } from '../../framework/status.ts';
import { claimsOf, isBound, type PodClaim } from '../../framework/pod-claims.ts';
import { bindClaims } from './bind-claims.ts';
import { findPodVolumes, admitsNode, type PodVolumes } from './find-volumes.ts';
import { volumeEvents } from './volume-events.ts';
import type { VolumeBindingDeps } from './volume-objects.ts';

const NAME = 'VolumeBinding';
const NO_VOLUME = unresolvable(NAME, "node(s) didn't find available persistent volumes to bind");
const NO_CAPACITY = unresolvable(NAME, 'node(s) did not have enough free storage');
const AFFINITY = unresolvable(NAME, "node(s) didn't match PersistentVolume's node affinity");
const LOST = unresolvable(NAME, 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)');

interface StateData {
  readonly bound: readonly Stored<PersistentVolumeClaim>[];
  readonly delayed: readonly Stored<PersistentVolumeClaim>[];
  /** The decision for the reserved node. */
  chosen?: PodVolumes;
}

export function createVolumeBinding(
  deps: VolumeBindingDeps,
  args: VolumeBindingArgs = defaultArgs.volumeBinding,
): SchedulerPlugin {
  /** The pods for which volumes are assumed, by volume name. */
  const assumedVolumes = new Map<string, string>();
  const takenFrom =
    (pod: Stored<Pod>) =>
    (volume: string): boolean => {
      const uid = assumedVolumes.get(volume);
      return uid !== undefined && uid !== pod.metadata.uid;
    };
  const giveBack = (state: CycleState, pod: Stored<Pod>): void => {
    for (const { volume } of (state.get(NAME) as StateData | undefined)?.chosen?.bindings ?? [])
      if (assumedVolumes.get(volume.metadata.name) === pod.metadata.uid) assumedVolumes.delete(volume.metadata.name);
  };
  return {
    name: NAME,
    preFilter(state, pod) {
      const wanted = claimsOf(pod);
      if (wanted.length === 0) return { code: 'skip', reasons: [], plugin: NAME };
      return sortClaims(deps, state, { pod, wanted });
    },
    filter(state, pod, { node }) {
      const stateData = state.get(NAME) as StateData;
      for (const claim of stateData.bound) {
        const volume = deps.volume(claim.spec?.volumeName ?? '');
        if (volume === undefined) return LOST;
        if (!admitsNode(volume, node)) return AFFINITY;
      }
      if (stateData.delayed.length === 0) return undefined;
      const found = findPodVolumes(deps, stateData.delayed, { node, taken: takenFrom(pod) });
      if (found === 'no volume') return NO_VOLUME;
      return found === 'no capacity' ? NO_CAPACITY : undefined;
    },
    explain: (state, _pod, { node }) => explainVolumes(deps, state.get(NAME) as StateData, node),
    reserve(state, pod, nodeName) {
      const stateData = state.get(NAME) as StateData | undefined;
      if (stateData === undefined || stateData.delayed.length === 0) return undefined;
      const node = deps.node(nodeName);
      const found =
        node === undefined ? 'no volume' : findPodVolumes(deps, stateData.delayed, { node, taken: takenFrom(pod) });
      if (found === 'no volume') return NO_VOLUME;
      if (found === 'no capacity') return NO_CAPACITY;
      stateData.chosen = found;
      for (const { volume } of found.bindings) assumedVolumes.set(volume.metadata.name, pod.metadata.uid);
      return undefined;
    },
    unreserve: (state, pod) => giveBack(state, pod),
    postBind: (state, pod) => giveBack(state, pod),
    preBindPreFlight: (state) =>
      (state.get(NAME) as StateData | undefined)?.chosen === undefined
        ? { code: 'skip', reasons: [], plugin: NAME }
        : undefined,
    async preBind(state, _pod, target) {
      const volumes = (state.get(NAME) as StateData | undefined)?.chosen;
      return volumes === undefined ? undefined : bindClaims(deps, { volumes, timeoutMs: args.bindTimeoutMs }, target);
    },
    events: volumeEvents(deps.claim),
  };
}

/** Volumes that the node cannot reach, and delayed claims without a volume there. */
function explainVolumes(deps: VolumeBindingDeps, { bound, delayed }: StateData, node: Stored<Node>): readonly Lack[] {
  const far = bound.flatMap(({ metadata, spec }) => {
    const { volumeName = '' } = spec ?? {};
    const volume = deps.volume(volumeName);
    if (volume === undefined) return [`volume ${volumeName} of claim ${metadata.name} does not exist`];
    if (admitsNode(volume, node)) return [];
    const terms = volume.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
    return [`volume ${volumeName} of claim ${metadata.name} is for nodes with ${terms.map(termText).join(' or ')}`];
  });
  const waiting = delayed.map(
    ({ metadata, spec }) => `claim ${metadata.name} of class ${spec?.storageClassName} gets no volume here`,
  );
  return (far.length > 0 ? far : waiting).slice(0, MAX_LISTED).map((what) => ({ what, distance: 1 }));
}

function sortClaims(
  deps: VolumeBindingDeps,
  state: CycleState,
  { pod, wanted }: { pod: Stored<Pod>; wanted: readonly PodClaim[] },
): Status | undefined {
  const bound: Stored<PersistentVolumeClaim>[] = [];
  const delayed: Stored<PersistentVolumeClaim>[] = [];
  for (const { name, isEphemeral } of wanted) {
    const claim = deps.claim(pod.metadata.namespace, name);
    if (claim === undefined)
      return unresolvable(
        NAME,
        isEphemeral
          ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"`
          : `persistentvolumeclaim "${name}" not found`,
      );
    if (claim.status?.phase === 'Lost')
      return unresolvable(
        NAME,
        `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec?.volumeName ?? ''}"`,
      );
    if (claim.metadata.deletionTimestamp !== undefined)
      return unresolvable(NAME, `persistentvolumeclaim "${name}" is being deleted`);
    if (
      isEphemeral &&
      !claim.metadata.ownerReferences?.some((o) => o.controller === true && o.uid === pod.metadata.uid)
    )
      return unresolvable(
        NAME,
        `PVC ${claim.metadata.namespace}/${name} was not created for pod ${pod.metadata.namespace}/${pod.metadata.name} (pod is not owner)`,
      );
    if (isBound(claim)) bound.push(claim);
    else if (
      deps.storageClass(claim.spec?.storageClassName ?? '')?.volumeBindingMode === 'WaitForFirstConsumer' &&
      (claim.spec?.volumeName ?? '') === ''
    )
      delayed.push(claim);
    else return unresolvable(NAME, 'pod has unbound immediate PersistentVolumeClaims');
  }
  state.set(NAME, { bound, delayed } satisfies StateData);
  return undefined;
}
