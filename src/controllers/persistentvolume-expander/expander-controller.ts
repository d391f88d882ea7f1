/**
 * Records on claims to be expanded which component expands them. Upstream: pkg/controller/volume/expand, which has no
 * plugins any more either: the CSI resizer expands volumes.
 *
 * Watches: claims, volumes. Writes nothing but events.
 */
import { PersistentVolumeClaims, PersistentVolumes } from '../../api/gen/resources.ts';
import { compareQuantities } from '../../api/quantity.ts';
import type { PersistentVolumeClaim } from '../../api/gen/core-v1.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';
import { requestedStorage } from '../../component-helpers/claim-size.ts';

const NAME = 'persistentvolume-expander-controller';

export function createPersistentVolumeExpander(deps: ControllerDeps): Controller {
  const recorder = deps.recorderFor('volume_expand');
  const claims = deps.informers.informer(PersistentVolumeClaims);
  const volumes = deps.informers.informer(PersistentVolumes);
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'volume_expand',
    workers: 10,
    informers: informerList(claims, volumes),
    async sync(key) {
      const claim = claims.get(parseKey(key));
      if (claim === undefined || !wantsToGrow(claim)) return;
      const volume = volumes.get({ name: claim.spec?.volumeName ?? '' });
      if (volume?.spec?.claimRef?.uid !== claim.metadata.uid) return;
      const external = volume?.spec?.csi !== undefined;
      const message = external
        ? 'waiting for an external controller to expand this PVC'
        : "Ignoring the PVC: didn't find a plugin capable of expanding the volume; waiting for an external controller to process this PVC.";
      recorder.event(claim, external ? 'Normal' : 'Warning', 'ExternalExpanding', message);
    },
  });
  claims.addHandler({
    onUpdate(old, claim) {
      const grew = compareQuantities(requestedStorage(claim), requestedStorage(old)) > 0;
      if (grew && wantsToGrow(claim)) loop.queue.add(keyOfObject(claim));
    },
  });
  return loop;
}

function wantsToGrow(claim: PersistentVolumeClaim): boolean {
  return (
    claim.status?.phase === 'Bound' &&
    compareQuantities(requestedStorage(claim), claim.status.capacity?.['storage'] ?? '0') > 0
  );
}
