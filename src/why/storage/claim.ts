/** Explains why a persistent volume claim is not bound. */
import { PersistentVolumeClaims, PersistentVolumes, StorageClasses } from '../../api/gen/resources.ts';
import type { PersistentVolumeClaim } from '../../api/gen/core-v1.ts';
import { defaultStorageClass } from '../../component-helpers/default-storage-class.ts';
import { NO_PROVISIONER } from '../../component-helpers/no-provisioner.ts';
import { conditionCause, conditionsOf } from '../conditions.ts';
import { timeOfEvent, type Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis } from '../explanation.ts';
import { nameOf, nameOfObject } from '../object-name.ts';
import { hasMatchingVolume, namedVolumeCauses, noVolumeCause } from './matching-volume.ts';
import { formatTime } from '../../api/time.ts';

export async function explainClaim(claim: PersistentVolumeClaim, evidence: Evidence): Promise<Diagnosis> {
  const phase = claim.status?.phase ?? 'Pending';
  if (phase === 'Bound') {
    const resize = conditionsOf(claim)
      .filter(({ type, status }) => type.endsWith('ResizeError') && status === 'True')
      .map((condition) => conditionCause(PersistentVolumeClaims, claim, condition));
    return {
      state: resize.length === 0 ? 'Fine' : 'Trouble',
      summary: `is bound to ${claim.spec?.volumeName}`,
      causes: resize,
    };
  }
  if (phase === 'Lost') return { state: 'Trouble', summary: 'has lost its volume', causes: [lostCause(claim)] };
  const causes = await pendingCauses(claim, evidence);
  if (causes.length > 0) return { state: 'Trouble', summary: 'is not bound to a volume', causes };
  const state = evidence.notReadable.length === 0 ? 'Progressing' : 'Unknown';
  return { state, summary: 'is not bound to a volume', causes };
}

function lostCause(claim: PersistentVolumeClaim): Cause {
  const name = claim.spec?.volumeName ?? '';
  return cause({
    code: 'VolumeLost',
    object: nameOf(PersistentVolumes, { name }),
    message: `volume ${name}, to which it was bound, does not exist`,
    cure: { text: 'restore the volume, or delete the claim and create it anew (its data is gone)' },
  });
}

async function pendingCauses(claim: PersistentVolumeClaim, evidence: Evidence): Promise<readonly Cause[]> {
  const { storageClassName, volumeName = '' } = claim.spec ?? {};
  if (volumeName !== '') return namedVolumeCauses(claim, volumeName, evidence);
  const classes = await evidence.listed(StorageClasses);
  if (classes === undefined && storageClassName !== '') return [];
  const name = storageClassName ?? defaultStorageClass(classes ?? [])?.metadata.name;
  if (name === '') return [await noVolumeCause(claim, evidence)];
  if (name === undefined) return [noClassCause(claim)];
  const storageClass = classes?.find(({ metadata }) => metadata.name === name);
  if (storageClass === undefined) return [classMissingCause(name)];
  if (storageClass.provisioner === NO_PROVISIONER) {
    const isLate = storageClass.volumeBindingMode === 'WaitForFirstConsumer' && !isSelected(claim);
    if (isLate && (await hasMatchingVolume(claim, evidence))) return [consumerCause(claim)];
    return [await noVolumeCause(claim, evidence)];
  }
  if (storageClass.volumeBindingMode === 'WaitForFirstConsumer' && !isSelected(claim)) return [consumerCause(claim)];
  return provisioningCauses(claim, storageClass.provisioner, evidence);
}

/** Whether the scheduler has selected a node for the claim's pod. */
function isSelected({ metadata }: PersistentVolumeClaim): boolean {
  return metadata.annotations?.['volume.kubernetes.io/selected-node'] !== undefined;
}

function noClassCause(claim: PersistentVolumeClaim): Cause {
  return cause({
    code: 'NoStorageClass',
    object: nameOfObject(PersistentVolumeClaims, claim),
    message: 'it names no storage class, and none is the default',
    cure: { text: 'name a storage class, or make one the default', command: 'kubectl get storageclass' },
  });
}

function classMissingCause(name: string): Cause {
  return cause({
    code: 'StorageClassMissing',
    object: nameOf(StorageClasses, { name }),
    message: `storage class ${name} does not exist`,
    cure: { text: `create storage class ${name}, or name another`, command: 'kubectl get storageclass' },
  });
}

function consumerCause(claim: PersistentVolumeClaim): Cause {
  return cause({
    code: 'WaitsForConsumer',
    object: nameOfObject(PersistentVolumeClaims, claim),
    message: 'its volume is made when a pod that uses it has been given a node',
    cure: { text: 'create a pod that uses it; if there is one, ask why that has no node' },
  });
}

async function provisioningCauses(
  claim: PersistentVolumeClaim,
  provisioner: string,
  evidence: Evidence,
): Promise<readonly Cause[]> {
  const object = nameOfObject(PersistentVolumeClaims, claim);
  const event = (await evidence.events(claim))[0];
  const since = event === undefined ? {} : { since: formatTime(timeOfEvent(event)) };
  const isFailure = event?.type === 'Warning';
  return [
    cause({
      code: isFailure ? 'ProvisioningFailed' : 'WaitsForProvisioner',
      object,
      message: isFailure ? `provisioner ${provisioner} failed` : `it waits for provisioner ${provisioner}`,
      ...since,
      facts: event?.message === undefined ? [] : [event.message],
      cure: { text: `see whether provisioner ${provisioner} runs, and read its log` },
    }),
  ];
}
