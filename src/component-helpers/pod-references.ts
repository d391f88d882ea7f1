/**
 * The objects a pod names in its spec: secrets, config maps, claims. Upstream: api/v1/pod.VisitPodSecretNames,
 * VisitPodConfigmapNames and component-helpers/storage/ephemeral.
 */
import type { PersistentVolume, Pod, PodSpec, SecretReference } from '../api/gen/core-v1.ts';

type NamesOf = (pod: Pod) => ReadonlySet<string>;

/** Smaller sets are computed each time: caching those of every pod would cost more memory than it saves time. */
const REMEMBERED_FROM = 16;

/** Caches the result by pod: a node asks for each object of a list of thousands, and each is looked up among all. */
function cachedByPod(namesOf: NamesOf): NamesOf {
  const known = new WeakMap<Pod, ReadonlySet<string>>();
  return (pod) => {
    let names = known.get(pod);
    if (names === undefined) {
      names = namesOf(pod);
      if (names.size >= REMEMBERED_FROM) known.set(pod, names);
    }
    return names;
  };
}

/** Adds names that are set. */
function adderTo(names: Set<string>): (name: string | undefined) => void {
  return (name) => {
    if (name !== undefined && name !== '') names.add(name);
  };
}

/** Names of the secrets a pod refers to. */
export const secretNames = cachedByPod((pod: Pod): ReadonlySet<string> => {
  const names = new Set<string>();
  const add = adderTo(names);
  for (const reference of pod.spec?.imagePullSecrets ?? []) add(reference.name);
  for (const volume of pod.spec?.volumes ?? []) {
    add(volume.secret?.secretName);
    for (const source of volume.projected?.sources ?? []) add(source.secret?.name);
    add(volume.azureFile?.secretName);
    for (const { secretRef } of [
      volume.cephfs,
      volume.cinder,
      volume.flexVolume,
      volume.iscsi,
      volume.rbd,
      volume.scaleIO,
      volume.storageos,
    ].map((v) => v ?? {}))
      add(secretRef?.name);
    add(volume.csi?.nodePublishSecretRef?.name);
  }
  for (const container of containersOf(pod.spec)) {
    for (const env of container.env ?? []) add(env.valueFrom?.secretKeyRef?.name);
    for (const from of container.envFrom ?? []) add(from.secretRef?.name);
  }
  return names;
});

/** Names of the config maps a pod refers to. */
export const configMapNames = cachedByPod((pod: Pod): ReadonlySet<string> => {
  const names = new Set<string>();
  const add = adderTo(names);
  for (const volume of pod.spec?.volumes ?? []) {
    add(volume.configMap?.name);
    for (const source of volume.projected?.sources ?? []) add(source.configMap?.name);
  }
  for (const container of containersOf(pod.spec)) {
    for (const env of container.env ?? []) add(env.valueFrom?.configMapKeyRef?.name);
    for (const from of container.envFrom ?? []) add(from.configMapRef?.name);
  }
  return names;
});

/** Names of the claims a pod uses, those of its generic ephemeral volumes among them. */
export const claimNames = cachedByPod((pod: Pod): ReadonlySet<string> => {
  const names = new Set<string>();
  for (const volume of pod.spec?.volumes ?? []) {
    if (volume.persistentVolumeClaim !== undefined) names.add(volume.persistentVolumeClaim.claimName);
    if (volume.ephemeral !== undefined) names.add(`${pod.metadata.name}-${volume.name}`);
  }
  return names;
});

/** The secrets a node needs to mount a volume, as `namespace/name`; the claim's namespace where none is named. Upstream: VisitPVSecretNames. */
export function volumeSecrets(volume: PersistentVolume): ReadonlySet<string> {
  const found = new Set<string>();
  const { spec } = volume;
  const home = spec?.claimRef?.namespace ?? '';
  const add = (reference: SecretReference | undefined): void => {
    if (reference?.name !== undefined && reference.name !== '')
      found.add(
        `${reference.namespace === undefined || reference.namespace === '' ? home : reference.namespace}/${reference.name}`,
      );
  };
  if (spec?.azureFile !== undefined)
    add({ name: spec.azureFile.secretName, namespace: spec.azureFile.secretNamespace ?? home });
  for (const { secretRef } of [
    spec?.cephfs,
    spec?.cinder,
    spec?.flexVolume,
    spec?.iscsi,
    spec?.rbd,
    spec?.scaleIO,
    spec?.storageos,
  ].map((v) => v ?? {}))
    add(secretRef);
  for (const reference of [
    spec?.csi?.controllerExpandSecretRef,
    spec?.csi?.nodePublishSecretRef,
    spec?.csi?.nodeStageSecretRef,
    spec?.csi?.nodeExpandSecretRef,
  ])
    add(reference);
  return found;
}

interface ReferringContainer {
  readonly env?: readonly {
    readonly valueFrom?: {
      readonly secretKeyRef?: { readonly name?: string };
      readonly configMapKeyRef?: { readonly name?: string };
    };
  }[];
  readonly envFrom?: readonly {
    readonly secretRef?: { readonly name?: string };
    readonly configMapRef?: { readonly name?: string };
  }[];
}

function containersOf(spec: PodSpec | undefined): readonly ReferringContainer[] {
  return spec === undefined
    ? []
    : [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])];
}
