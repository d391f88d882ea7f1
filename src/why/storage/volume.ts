/** Explains why a persistent volume cannot be used. */
import { PersistentVolumeClaims, PersistentVolumes } from '../../api/gen/resources.ts';
import type { PersistentVolume } from '../../api/gen/core-v1.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';

export async function explainVolume(volume: PersistentVolume, evidence: Evidence): Promise<Diagnosis> {
  const phase = volume.status?.phase ?? 'Pending';
  const { namespace = '', name = '' } = volume.spec?.claimRef ?? {};
  const object = nameOfObject(PersistentVolumes, volume);
  if (phase === 'Available') {
    const summary = name === '' ? 'is free' : `is kept for claim ${namespace}/${name}, which is not bound to it yet`;
    return { state: 'Fine', summary, causes: [] };
  }
  if (phase === 'Bound') return { state: 'Fine', summary: `is bound to claim ${namespace}/${name}`, causes: [] };
  const facts = [volume.status?.reason, volume.status?.message].filter(
    (text): text is string => text !== undefined && text !== '',
  );
  if (phase === 'Failed') {
    const cure = { text: 'mend what the message names, then delete the volume' };
    const failed = cause({
      code: 'ReclaimFailed',
      object,
      message: 'it could not be recycled or deleted',
      facts,
      cure,
    });
    return { state: 'Trouble', summary: 'has failed', causes: [failed] };
  }
  if (phase !== 'Released')
    return { state: phase === 'Pending' ? 'Progressing' : 'Unknown', summary: `is ${phase}`, causes: [] };
  const { object: claim, missing } = await evidence.get(PersistentVolumeClaims, { namespace, name });
  if (volume.spec?.persistentVolumeReclaimPolicy === 'Delete')
    return { state: 'Trouble', summary: 'is released and not deleted', causes: [notDeletedCause(volume, facts)] };
  const state = missing ? 'is gone' : claim === undefined ? 'cannot be seen' : 'is another one now';
  const released = cause({
    code: 'Released',
    object,
    message: `its claim ${namespace}/${name} ${state}, and its reclaim policy is ${volume.spec?.persistentVolumeReclaimPolicy ?? 'Retain'}`,
    facts,
    cure: {
      text: 'save its data, then let it be claimed again',
      command: `kubectl patch pv ${object.name} -p '{"spec":{"claimRef":null}}'`,
    },
  });
  return { state: 'Trouble', summary: 'is released and not free', causes: [released] };
}

/** The provisioner that created a volume deletes it after its claim. */
function notDeletedCause(volume: PersistentVolume, facts: readonly string[]): Cause {
  const provisioner = volume.metadata.annotations?.['pv.kubernetes.io/provisioned-by'] ?? volume.spec?.csi?.driver;
  const object = nameOfObject(PersistentVolumes, volume);
  return cause({
    code: 'Released',
    object,
    message: 'its claim is gone, its reclaim policy is Delete, and nobody has deleted it',
    facts,
    cure: {
      text:
        provisioner === undefined
          ? 'delete it by hand: nothing says who made it'
          : `see whether provisioner ${provisioner} runs, and read its log; if it never will again, delete the volume by hand`,
      command: `kubectl describe pv ${object.name}`,
    },
  });
}
