/**
 * Explains why a claim is not bound to an existing volume: the one that it names, or any. Upstream: volume.FindMatchingVolume.
 */
import { PersistentVolumeClaims, PersistentVolumes } from '../../api/gen/resources.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/gen/core-v1.ts';
import { compileLabelSelector } from '../../api/label-selector.ts';
import { compareQuantities } from '../../api/quantity.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause } from '../explanation.ts';
import { nameOf, nameOfObject } from '../object-name.ts';

/** The limit of volumes that are listed; others usually fail for the same reason. */
const MAX_LISTED = 5;

/** The causes why a claim is not bound to the volume that it names. */
export async function namedVolumeCauses(
  claim: PersistentVolumeClaim,
  name: string,
  evidence: Evidence,
): Promise<readonly Cause[]> {
  const at = nameOf(PersistentVolumes, { name });
  const { object: volume, missing } = await evidence.get(PersistentVolumes, { name });
  if (missing) {
    const message = `volume ${name}, which it names, does not exist`;
    const cure = { text: `create volume ${name}, or leave out spec.volumeName`, command: 'kubectl get pv' };
    return [cause({ code: 'VolumeMissing', object: at, message, cure })];
  }
  if (volume === undefined) return [];
  const owner = volume.spec?.claimRef;
  if (owner !== undefined && (owner.name !== claim.metadata.name || owner.namespace !== claim.metadata.namespace)) {
    const message = `volume ${name}, which it names, belongs to claim ${owner.namespace}/${owner.name}`;
    const cure = { text: 'name another volume, or leave out spec.volumeName', command: 'kubectl get pv' };
    return [cause({ code: 'VolumeTaken', object: at, message, cure })];
  }
  const faults = mismatches(claim, volume);
  if (faults.length === 0) return [];
  const message = `volume ${name}, which it names, does not match: ${faults.join(', ')}`;
  return [cause({ code: 'VolumeMismatch', object: at, message, cure: { text: 'make claim and volume agree' } })];
}

/** The cause when no existing volume matches a claim that is not provisioned dynamically. */
export async function noVolumeCause(claim: PersistentVolumeClaim, evidence: Evidence): Promise<Cause> {
  const facts = (await freeVolumes(evidence)).slice(0, MAX_LISTED).map((volume) => {
    const faults = freeVolumeFaults(claim, volume);
    return `volume ${volume.metadata.name}: ${faults.length === 0 ? 'it matches, but can be used from some nodes alone' : faults.join(', ')}`;
  });
  return cause({
    code: 'NoVolumeMatches',
    object: nameOfObject(PersistentVolumeClaims, claim),
    message: 'it is to be bound to a volume that exists, and none matches',
    facts,
    cure: {
      text: 'create a persistent volume with its size, access modes and labels, or name a storage class',
      command: 'kubectl get pv',
    },
  });
}

/** Whether some available volume matches the claim, on any node. */
export async function hasMatchingVolume(claim: PersistentVolumeClaim, evidence: Evidence): Promise<boolean> {
  return (await freeVolumes(evidence)).some((volume) => freeVolumeFaults(claim, volume).length === 0);
}

async function freeVolumes(evidence: Evidence): Promise<readonly PersistentVolume[]> {
  return (await evidence.list(PersistentVolumes)).filter(({ status }) => status?.phase === 'Available');
}

/** The reasons why an available volume does not match the claim. */
function freeVolumeFaults(claim: PersistentVolumeClaim, volume: PersistentVolume): readonly string[] {
  const { namespace = '', name = '' } = volume.spec?.claimRef ?? {};
  const isKept = name !== '' && (name !== claim.metadata.name || namespace !== claim.metadata.namespace);
  const found = [...mismatches(claim, volume)];
  if (isKept) found.push(`it is kept for claim ${namespace}/${name}`);
  const { selector } = claim.spec ?? {};
  if (selector !== undefined && !compileLabelSelector(selector).matches(volume.metadata.labels))
    found.push('its labels do not match the selector of the claim');
  return found;
}

function mismatches({ spec }: PersistentVolumeClaim, { spec: volume }: PersistentVolume): readonly string[] {
  const wanted = spec?.resources?.requests?.['storage'] ?? '0';
  const size = volume?.capacity?.['storage'] ?? '0';
  const modes = (spec?.accessModes ?? []).filter((mode) => !(volume?.accessModes ?? []).includes(mode));
  const ofClass = spec?.storageClassName ?? '';
  const volumeClass = volume?.storageClassName ?? '';
  const found: string[] = [];
  if (compareQuantities(size, wanted) < 0) found.push(`it has ${size} of the ${wanted} asked for`);
  if (modes.length > 0) found.push(`it lacks access mode ${modes.join(', ')}`);
  if (ofClass !== volumeClass) found.push(`its class is "${volumeClass}", not "${ofClass}"`);
  if ((spec?.volumeMode ?? 'Filesystem') !== (volume?.volumeMode ?? 'Filesystem'))
    found.push(`its mode is ${volume?.volumeMode ?? 'Filesystem'}`);
  return found;
}
