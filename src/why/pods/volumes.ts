/** Explains why the volumes of a pod are not ready: their sources, claims, attachment, mounting. */
import { PersistentVolumeClaims, Pods, VolumeAttachments } from '../../api/gen/resources.ts';
import type { PersistentVolumeClaim, Pod } from '../../api/gen/core-v1.ts';
import type { VolumeAttachment } from '../../api/gen/storage-v1.ts';
import { parseTime } from '../../api/time.ts';
import type { AwaitedVolume } from '../../api/pod-node-state.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';
import { claimsOfVolumes, lookUpClaim, type PodClaim } from './claims.ts';
import { nodeStateOf } from './node-state.ts';
import { latestEventCause } from './pod-events.ts';
import { hasStarted } from './progress.ts';
import { mentionCauses, usedVolumes, volumeMentions } from './references.ts';
import { appendAll } from '../../base/lists.ts';

/** A volume that takes longer is reported as a cause. */
const MAX_USUAL_MS = 30_000;

export async function volumeCauses(pod: Pod, evidence: Evidence): Promise<readonly Cause[]> {
  if (hasStarted(pod)) return [];
  const causes = [...(await mentionCauses(pod, volumeMentions(pod), evidence))];
  for (const claim of claimsOfVolumes(pod, usedVolumes(pod)))
    appendAll(causes, await claimCauses(pod, claim, evidence));
  if (causes.length > 0) return causes;
  const state = await nodeStateOf(pod, evidence);
  if (state !== undefined)
    return state.volumes
      .filter(({ error, since }) => error !== undefined || evidence.nowMs - parseTime(since) > MAX_USUAL_MS)
      .map((volume) => awaitedCause(pod, volume));
  return latestEventCause(pod, evidence, {
    reasons: ['FailedMount', 'FailedAttachVolume', 'FailedMapVolume'],
    code: 'VolumeNotMounted',
    message: 'a volume could not be attached or mounted',
    // Separate events report that a mount takes too long, and why.
    messages: 3,
    cure: { text: 'mend what the message names; the kubelet tries again by itself' },
  });
}

/** A volume that the kubelet has not made ready. */
function awaitedCause(pod: Pod, { name, waitsFor, since, error }: AwaitedVolume): Cause {
  const missing = {
    attach: 'is not attached to the node',
    mount: 'is not mounted',
    process: 'cannot be processed',
    unmount: 'is still mounted',
  };
  return cause({
    code: 'VolumeNotMounted',
    object: nameOfObject(Pods, pod),
    message: `volume ${name} ${missing[waitsFor]}`,
    since,
    facts: error === undefined ? [] : [error],
    cure: { text: 'mend what the message names; the kubelet tries again by itself' },
  });
}

async function claimCauses(pod: Pod, podClaim: PodClaim, evidence: Evidence): Promise<readonly Cause[]> {
  const { causes, claim } = await lookUpClaim(pod, podClaim, evidence);
  if (claim === undefined) return causes;
  if (claim.status?.phase !== 'Bound')
    return [
      cause({
        code: 'ClaimNotBound',
        object: nameOfObject(PersistentVolumeClaims, claim),
        message: `claim ${podClaim.name} is not bound to a volume`,
        because: await evidence.causesOf(PersistentVolumeClaims, claim),
      }),
    ];
  return attachmentCauses(pod, claim, evidence);
}

async function attachmentCauses(pod: Pod, claim: PersistentVolumeClaim, evidence: Evidence): Promise<readonly Cause[]> {
  const volume = claim.spec?.volumeName ?? '';
  const attachments = (await evidence.list(VolumeAttachments)).filter(
    ({ spec }) => spec.source.persistentVolumeName === volume,
  );
  const node = pod.spec?.nodeName ?? '';
  const here = attachments.find(({ spec }) => spec.nodeName === node);
  const elsewhere = attachments.find(({ spec, status }) => spec.nodeName !== node && status?.attached === true);
  if (here?.status?.attached === true) return [];
  const isShared = (claim.spec?.accessModes ?? []).some((mode) => mode.endsWith('Many'));
  if (elsewhere !== undefined && !isShared) return [inUseCause(volume, elsewhere)];
  return here?.status?.attachError === undefined ? [] : [attachErrorCause(volume, here)];
}

function inUseCause(volume: string, attachment: VolumeAttachment): Cause {
  const other = attachment.spec.nodeName;
  return cause({
    code: 'VolumeInUse',
    object: nameOfObject(VolumeAttachments, attachment),
    message: `volume ${volume} is attached to node ${other}, and one node at a time may use it`,
    cure: {
      text: `end the pods that use it on ${other}; if that machine is certainly off, taint it node.kubernetes.io/out-of-service`,
      command: `kubectl get pods -A --field-selector spec.nodeName=${other}`,
    },
  });
}

function attachErrorCause(volume: string, attachment: VolumeAttachment): Cause {
  const { message = '', time } = attachment.status?.attachError ?? {};
  return cause({
    code: 'AttachFailed',
    object: nameOfObject(VolumeAttachments, attachment),
    message: `volume ${volume} could not be attached to node ${attachment.spec.nodeName}`,
    since: time ?? undefined,
    facts: message === '' ? [] : [message],
    cure: { text: `read the log of the CSI driver ${attachment.spec.attacher}` },
  });
}
