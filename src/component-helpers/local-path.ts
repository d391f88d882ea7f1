/**
 * Names that the local-path provisioner and the kubelet share: the provisioner, the folder of a node's volumes, and
 * their directories. Differs from upstream, which provisions nothing itself.
 */

/** The provisioner's name in storage classes. */
export const LOCAL_PATH_PROVISIONER = 'keelson.dev/local-path';

/** Annotation of a Node: the folder of its volumes. Absent: the node has none. */
export const LOCAL_PATH_ROOT = 'keelson.dev/local-path';

/** Annotation of a PersistentVolume with its provisioner. */
export const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';

/** First path segment of the kubelet's route that removes a volume's directory; the volume's name follows. */
export const LOCAL_VOLUMES_ROUTE = 'localVolumes';

/** The prefix of the name of a volume's directory. Volumes' names hold no underscore: none is the prefix of another. */
export function localPathPrefix(volumeName: string): string {
  return `${volumeName}_`;
}
