/** Why a persistent volume is of no use. */
import { PersistentVolumeClaims, PersistentVolumes } from '../../api/gen/resources.ts';
import type { PersistentVolume } from '../../api/gen/core-v1.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Diagnosis } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';

export async function explainVolume(volume: PersistentVolume, evidence: Evidence): Promise<Diagnosis> {
  const phase = volume.status?.phase ?? 'Pending';
  const { namespace = '', name = '' } = volume.spec?.claimRef ?? {};
  const object = nameOfObject(PersistentVolumes, volume);
  if (phase === 'Available') return { state: 'Fine', summary: 'is free', causes: [] };
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
  const fate = missing ? 'is gone' : claim === undefined ? 'cannot be seen' : 'is another one now';
  const released = cause({
    code: 'Released',
    object,
    message: `its claim ${namespace}/${name} ${fate}, and its reclaim policy is ${volume.spec?.persistentVolumeReclaimPolicy ?? 'Retain'}`,
    facts,
    cure: {
      text: 'save its data, then let it be claimed again',
      command: `kubectl patch pv ${object.name} -p '{"spec":{"claimRef":null}}'`,
    },
  });
  return { state: 'Trouble', summary: 'is released and not free', causes: [released] };
}
