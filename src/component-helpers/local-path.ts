/**
 * What the local-path provisioner and the kubelet agree on: who provisions, where a node keeps the directories, and what
 * they are called. Differs from upstream, which provisions nothing itself.
 */

/** The provisioner's name in storage classes. */
export const LOCAL_PATH_PROVISIONER = 'keelson.dev/local-path';

/** Annotation of a Node: the directory below which it keeps volumes. Absent: the node keeps none. */
export const LOCAL_PATH_ROOT = 'keelson.dev/local-path';

/** Annotation of a PersistentVolume: who provisioned it. */
export const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';

/** First path segment of the kubelet's route that removes a volume's directory; the volume's name follows. */
export const LOCAL_VOLUMES_ROUTE = 'localVolumes';

/** What the name of a volume's directory starts with. Volumes' names hold no underscore: none is the prefix of another. */
export function localPathPrefix(volumeName: string): string {
  return `${volumeName}_`;
}
