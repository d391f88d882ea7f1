/** The storage class a new cluster is born with. Upstream: none; distributions bring their own. */
import type { StorageClass } from '../../api/gen/storage-v1.ts';
import { LOCAL_PATH_PROVISIONER } from '../../component-helpers/local-path.ts';

/** Claims that name no class get a directory on the node of their pod. */
export function localPathStorageClass(): StorageClass {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'local-path', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    provisioner: LOCAL_PATH_PROVISIONER,
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'WaitForFirstConsumer',
  };
}
