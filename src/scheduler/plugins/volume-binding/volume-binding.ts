/**
 * VolumeBinding: claims must exist, be bound where the class binds at once, and bound volumes must be reachable from the
 * node. Claims of a WaitForFirstConsumer class follow the pod: PreBind names the chosen node on them and waits until their
 * provisioner has bound them. Upstream: plugins/volumebinding. Not here yet: choosing among unbound volumes made in
 * advance (class without provisioner); such pods are refused with upstream's reason until their claim is bound.
 */
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../../api/gen/core-v1.ts';
import type { StorageClass } from '../../../api/gen/storage-v1.ts';
import { PersistentVolumeClaims } from '../../../api/gen/resources.ts';
import type { Client } from '../../../client/client.ts';
import { nodeSelectorTermMatches } from '../../../component-helpers/node-affinity.ts';
import type { Clock } from '../../../platform/clock.ts';
import { defaultArgs, type VolumeBindingArgs } from '../../config/plugin-args.ts';
import type { CycleState, SchedulerPlugin } from '../../framework/plugin.ts';
import { failed, unresolvable, type Status } from '../../framework/status.ts';
import { claimsOf, isBound, type PodClaim } from '../../framework/pod-claims.ts';

const NAME = 'VolumeBinding';
const SELECTED_NODE = 'volume.kubernetes.io/selected-node';
const POLL_MS = 500;

/** What the plugin looks at. */
export interface VolumeBindingDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly claim: (namespace: string, name: string) => PersistentVolumeClaim | undefined;
  readonly volume: (name: string) => PersistentVolume | undefined;
  readonly storageClass: (name: string) => StorageClass | undefined;
}

interface Kept {
  readonly bound: readonly PersistentVolumeClaim[];
  readonly delayed: readonly PersistentVolumeClaim[];
}

/** Creates the plugin. */
export function createVolumeBinding(
  deps: VolumeBindingDeps,
  args: VolumeBindingArgs = defaultArgs.volumeBinding,
): SchedulerPlugin {
  return {
    name: NAME,
    preFilter(state, pod) {
      const wanted = claimsOf(pod);
      if (wanted.length === 0) return { code: 'skip', reasons: [], plugin: NAME };
      return sortClaims(deps, state, { pod, wanted });
    },
    filter(state, _pod, { node }) {
      const kept = state.get(NAME) as Kept;
      for (const claim of kept.bound) {
        const volume = deps.volume(claim.spec?.volumeName ?? '');
        if (volume === undefined)
          return unresolvable(NAME, 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)');
        const required = volume.spec?.nodeAffinity?.required;
        if (required !== undefined && !required.nodeSelectorTerms.some((term) => nodeSelectorTermMatches(term, node)))
          return unresolvable(NAME, 'node(s) had volume node affinity conflict');
      }
      for (const claim of kept.delayed) {
        const selected = claim.metadata.annotations?.[SELECTED_NODE];
        const elsewhere = selected !== undefined && selected !== node.metadata.name;
        if (elsewhere || !provisions(deps.storageClass(claim.spec?.storageClassName ?? '')))
          return unresolvable(NAME, "node(s) didn't find available persistent volumes to bind");
      }
      return undefined;
    },
    preBind: (state, pod, target) =>
      bindDelayed(
        deps,
        { pod, delayed: (state.get(NAME) as Kept | undefined)?.delayed ?? [], timeoutMs: args.bindTimeoutMs },
        target,
      ),
    events: [{ event: 'storage' }, { event: 'node/add' }, { event: 'node/update-label' }, { event: 'pod/update' }],
  };
}

function sortClaims(
  deps: VolumeBindingDeps,
  state: CycleState,
  { pod, wanted }: { pod: Pod; wanted: readonly PodClaim[] },
): Status | undefined {
  const bound: PersistentVolumeClaim[] = [];
  const delayed: PersistentVolumeClaim[] = [];
  for (const { name, isEphemeral } of wanted) {
    const claim = deps.claim(pod.metadata.namespace ?? '', name);
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
  state.set(NAME, { bound, delayed } satisfies Kept);
  return undefined;
}

function provisions(storageClass: StorageClass | undefined): boolean {
  return (
    storageClass !== undefined &&
    storageClass.provisioner !== '' &&
    storageClass.provisioner !== 'kubernetes.io/no-provisioner'
  );
}

async function bindDelayed(
  deps: VolumeBindingDeps,
  { pod, delayed, timeoutMs }: { pod: Pod; delayed: readonly PersistentVolumeClaim[]; timeoutMs: number },
  target: { nodeName: string; signal: AbortSignal },
): Promise<Status | undefined> {
  const claims = deps.client.resource(PersistentVolumeClaims);
  const namespace = pod.metadata.namespace ?? '';
  try {
    for (const { metadata } of delayed) {
      if (metadata.annotations?.[SELECTED_NODE] === target.nodeName) continue;
      await claims.patch(
        { namespace, name: metadata.name ?? '' },
        {
          type: 'merge',
          patch: { metadata: { uid: metadata.uid, annotations: { [SELECTED_NODE]: target.nodeName } } },
        },
        { signal: target.signal },
      );
    }
    const untilMs = deps.clock.monotonicMs() + timeoutMs;
    for (;;) {
      const now = delayed.map(({ metadata }) => deps.claim(namespace, metadata.name ?? ''));
      if (now.every((claim) => claim !== undefined && isBound(claim))) return undefined;
      // The provisioner takes the node back when it cannot provision there: the pod starts over.
      if (now.some((claim) => claim === undefined))
        return unresolvable(NAME, 'a persistentvolumeclaim of the pod was deleted while binding');
      if (deps.clock.monotonicMs() >= untilMs) return failed(NAME, new Error('timed out waiting for the condition'));
      await deps.clock.sleep(POLL_MS, target.signal);
    }
  } catch (error) {
    return failed(NAME, error);
  }
}
