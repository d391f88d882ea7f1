/**
 * Binds the claims of a pod as decided: sets claimRef of a prebound volume, or the selected node on a claim to be
 * provisioned, and waits until all claims are bound. Upstream: volumebinding/binder.go (BindPodVolumes).
 */
import type { Stored } from '../../../api/object.ts';
import { PersistentVolumeClaims, PersistentVolumes } from '../../../api/gen/resources.ts';
import type { PersistentVolumeClaim } from '../../../api/gen/core-v1.ts';
import { isBound } from '../../framework/pod-claims.ts';
import type { BindTarget } from '../../framework/plugin.ts';
import { failed, unresolvable, type Status } from '../../framework/status.ts';
import type { PodVolumes, StaticBinding } from './find-volumes.ts';
import type { VolumeBindingDeps } from './volume-objects.ts';

const NAME = 'VolumeBinding';
const SELECTED_NODE = 'volume.kubernetes.io/selected-node';
const POLL_MS = 500;

/** Resolves to undefined when all claims are bound, otherwise to the failure. */
export async function bindClaims(
  deps: VolumeBindingDeps,
  { volumes, timeoutMs }: { volumes: PodVolumes; timeoutMs: number },
  target: BindTarget,
): Promise<Status | undefined> {
  try {
    for (const binding of volumes.bindings) await bindVolume(deps, binding, target.signal);
    for (const claim of volumes.provisioned) await selectNode(deps, claim, target);
    const claims = [...volumes.bindings.map(({ claim }) => claim), ...volumes.provisioned];
    return await allBound(deps, claims, { target, timeoutMs });
  } catch (error) {
    return failed(NAME, error);
  }
}

async function bindVolume(
  deps: VolumeBindingDeps,
  { claim, volume }: StaticBinding,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace, uid, resourceVersion } = claim.metadata;
  const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace, uid, resourceVersion };
  const { name: volumeName = '', uid: volumeUid, resourceVersion: seen } = volume.metadata;
  // With the resourceVersion that was read: if the volume was taken since, the write fails and the pod is scheduled
  // again.
  const metadata = {
    uid: volumeUid,
    resourceVersion: seen,
    annotations: { 'pv.kubernetes.io/bound-by-controller': 'yes' },
  };
  await deps.client
    .resource(PersistentVolumes)
    .patch({ name: volumeName }, { type: 'merge', patch: { metadata, spec: { claimRef } } }, { signal });
}

async function selectNode(
  deps: VolumeBindingDeps,
  { metadata }: Stored<PersistentVolumeClaim>,
  { nodeName, signal }: BindTarget,
): Promise<void> {
  if (metadata.annotations?.[SELECTED_NODE] === nodeName) return;
  const patch = { metadata: { uid: metadata.uid, annotations: { [SELECTED_NODE]: nodeName } } };
  await deps.client
    .resource(PersistentVolumeClaims)
    .patch({ namespace: metadata.namespace, name: metadata.name }, { type: 'merge', patch }, { signal });
}

async function allBound(
  deps: VolumeBindingDeps,
  claims: readonly Stored<PersistentVolumeClaim>[],
  { target, timeoutMs }: { target: BindTarget; timeoutMs: number },
): Promise<Status | undefined> {
  const untilMs = deps.clock.monotonicMs() + timeoutMs;
  /** Claims seen with our selected node: when the annotation disappears, the provisioner has rejected the node. */
  const selected = new Set<string | undefined>();
  for (;;) {
    const now = claims.map(({ metadata }) => deps.claim(metadata.namespace, metadata.name));
    if (now.every((claim) => claim !== undefined && isBound(claim))) return undefined;
    for (const claim of now) {
      if (claim === undefined)
        return unresolvable(NAME, 'a persistentvolumeclaim of the pod was deleted while binding');
      const on = claim.metadata.annotations?.[SELECTED_NODE];
      if (on === target.nodeName) selected.add(claim.metadata.uid);
      // The provisioner removes the selected node when it cannot provision there.
      else if (selected.has(claim.metadata.uid) && !isBound(claim))
        return failed(NAME, new Error(`provisioning failed for PVC "${claim.metadata.name}"`));
    }
    if (deps.clock.monotonicMs() >= untilMs) return failed(NAME, new Error('timed out waiting for the condition'));
    await deps.clock.sleep(POLL_MS, target.signal);
  }
}
