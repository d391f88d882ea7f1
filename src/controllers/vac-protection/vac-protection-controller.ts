/**
 * Keeps VolumeAttributesClasses that claims or volumes use or will use from being deleted, by a finalizer. Upstream:
 * pkg/controller/volume/vacprotection.
 *
 * Watches: the classes, claims, volumes. Writes alone: the `kubernetes.io/vac-protection` finalizer. Before the
 * finalizer is removed the server is read, as the caches may lack the last user.
 */
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/gen/core-v1.ts';
import { PersistentVolumeClaims, PersistentVolumes, VolumeAttributesClasses } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';

const NAME = 'volumeattributesclass-protection-controller';
const FINALIZER = 'kubernetes.io/vac-protection';

function classesOfClaim({ spec, status }: PersistentVolumeClaim): readonly (string | undefined)[] {
  const target = status?.modifyVolumeStatus?.targetVolumeAttributesClassName;
  return [spec?.volumeAttributesClassName, status?.currentVolumeAttributesClassName, target];
}

function isClassInUse(
  name: string,
  claims: readonly PersistentVolumeClaim[],
  volumes: readonly PersistentVolume[],
): boolean {
  return (
    volumes.some(({ spec }) => spec?.volumeAttributesClassName === name) ||
    claims.some((claim) => classesOfClaim(claim).includes(name))
  );
}

export function createVacProtectionController(deps: ControllerDeps): Controller {
  const client = deps.clientFor(NAME);
  const classes = deps.informers.informer(VolumeAttributesClasses);
  const claims = deps.informers.informer(PersistentVolumeClaims);
  const volumes = deps.informers.informer(PersistentVolumes);
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'vacprotection',
    workers: 1,
    informers: informerList(classes, claims, volumes),
    sync: processVolumeAttributesClass,
  });

  async function isUsed(name: string, signal: AbortSignal): Promise<boolean> {
    if (isClassInUse(name, claims.list(), volumes.list())) return true;
    const [allClaims, allVolumes] = await Promise.all([
      client.resource(PersistentVolumeClaims).list({ signal }),
      client.resource(PersistentVolumes).list({ signal }),
    ]);
    return isClassInUse(name, allClaims.items, allVolumes.items);
  }

  async function processVolumeAttributesClass(name: string, signal: AbortSignal): Promise<void> {
    const volumeAttributesClass = classes.get({ name });
    if (volumeAttributesClass === undefined) return;
    const finalizers = volumeAttributesClass.metadata.finalizers ?? [];
    const going = volumeAttributesClass.metadata.deletionTimestamp !== undefined;
    if (going !== finalizers.includes(FINALIZER) || (going && (await isUsed(name, signal)))) return;
    const next = going ? finalizers.filter((finalizer) => finalizer !== FINALIZER) : [...finalizers, FINALIZER];
    try {
      const metadata = { ...volumeAttributesClass.metadata, finalizers: next };
      await client.resource(VolumeAttributesClasses).update({ ...volumeAttributesClass, metadata }, { signal });
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error;
    }
  }

  const enqueue = (names: readonly (string | undefined)[]): void => {
    for (const name of new Set(names)) if (name !== undefined && name !== '') loop.queue.add(name);
  };
  classes.addHandler({
    onAdd: ({ metadata }) => enqueue([metadata.name]),
    onUpdate: (_, { metadata }) => enqueue([metadata.name]),
  });
  // A claim that changes its class may have been the last user of the old one.
  claims.addHandler({
    onUpdate: (old) => enqueue(classesOfClaim(old)),
    onDelete: (old) => enqueue(classesOfClaim(old)),
  });
  volumes.addHandler({
    onUpdate: (old) => enqueue([old.spec?.volumeAttributesClassName]),
    onDelete: (old) => enqueue([old.spec?.volumeAttributesClassName]),
  });
  return loop;
}
