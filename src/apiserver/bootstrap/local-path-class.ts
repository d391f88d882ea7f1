/** The storage class `local-path` of a cluster. Upstream: none; distributions bring their own. */
import type { StorageClass } from '../../api/gen/storage-v1.ts';
import { Namespaces, StorageClasses } from '../../api/gen/resources.ts';
import { ignoreNotFound } from '../../api/status-error.ts';
import { LOCAL_PATH_PROVISIONER } from '../../component-helpers/local-path.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { ownContext } from '../own-context.ts';

/** `none`: the user brings storage; `unknown`: other processes run the controllers, and the class is left as it is. */
export type LocalPath = 'keelson' | 'none' | 'unknown';

const NAME = 'local-path';
/** Annotation of the namespace kube-system: the class was left out, and is created once it is wanted again. */
const LEFT_OUT = 'keelson.dev/local-path-left-out';

/**
 * Creates the class in a new cluster, or in one where it was left out so far; deletes it where it is to be left out.
 * A class that a user deleted is not created again. Called before the namespaces are created, by which a cluster is
 * known to be new; the returned function, called after it, records the choice.
 */
export async function bootstrapLocalPath(objects: ObjectStore, wanted: LocalPath): Promise<() => Promise<void>> {
  const nothing = (): Promise<void> => Promise.resolve();
  if (wanted === 'unknown') return nothing;
  const system = await objects.getFresh(Namespaces, '', 'kube-system');
  const isLeftOut = system?.metadata.annotations?.[LEFT_OUT] !== undefined;
  if (wanted === 'none') {
    if (isLeftOut) return nothing;
    if (system !== undefined) await deleteOwnClass(objects);
    return () => record(objects, true);
  }
  if (system !== undefined && !isLeftOut) return nothing;
  await objects.ensure(StorageClasses, localPathStorageClass());
  return isLeftOut ? () => record(objects, false) : nothing;
}

async function deleteOwnClass(objects: ObjectStore): Promise<void> {
  const storageClass = await objects.getFresh(StorageClasses, '', NAME);
  if (storageClass?.provisioner !== LOCAL_PATH_PROVISIONER) return;
  const key = { namespace: '', name: NAME };
  await objects.delete(StorageClasses, key, {}, ownContext('delete', StorageClasses, key)).catch(ignoreNotFound);
}

async function record(objects: ObjectStore, isLeftOut: boolean): Promise<void> {
  await objects.guaranteedUpdate(Namespaces, '', 'kube-system', (now) => {
    const { [LEFT_OUT]: _, ...annotations } = now.metadata.annotations ?? {};
    return {
      ...now,
      metadata: { ...now.metadata, annotations: isLeftOut ? { ...annotations, [LEFT_OUT]: 'true' } : annotations },
    };
  });
}

/** Claims that name no class get a directory on the node of their pod. */
export function localPathStorageClass(): StorageClass {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: NAME, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    provisioner: LOCAL_PATH_PROVISIONER,
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'WaitForFirstConsumer',
  };
}
