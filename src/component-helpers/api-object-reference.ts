/**
 * Whether a pod refers to an object of the API, which a static pod must not. Upstream: api/pod HasAPIObjectReference.
 */
import type { Pod, Volume, VolumeProjection } from '../api/gen/core-v1.ts';
import { configMapNames, secretNames } from './pod-references.ts';

/** By the volume field that names the object. */
const BY_VOLUME: Readonly<Partial<Record<keyof Volume, string>>> = {
  configMap: 'configmaps (via configmap volumes)',
  secret: 'secrets (via secret volumes)',
  csi: 'csidrivers (via CSI volumes)',
  glusterfs: 'endpoints (via glusterFS volumes)',
  persistentVolumeClaim: 'persistentvolumeclaims',
  ephemeral: 'persistentvolumeclaims (via ephemeral volumes)',
  azureFile: 'secrets (via azureFile volumes)',
};

const BY_SOURCE: Readonly<Partial<Record<keyof VolumeProjection, string>>> = {
  configMap: 'configmaps (via projected volumes)',
  secret: 'secrets (via projected volumes)',
  serviceAccountToken: 'serviceaccounts (via projected volumes)',
  clusterTrustBundle: 'clustertrustbundles',
  podCertificate: 'podcertificates',
};

/** The resource of the first API object that the pod refers to; undefined: none. */
export function apiObjectReference(pod: Pod): string | undefined {
  const { serviceAccountName = '', resourceClaims = [], volumes = [] } = pod.spec ?? {};
  if (serviceAccountName !== '') return 'serviceaccounts';
  if (secretNames(pod).size > 0) return 'secrets';
  if (configMapNames(pod).size > 0) return 'configmaps';
  if (resourceClaims.length > 0) return 'resourceclaims';
  for (const volume of volumes) {
    const found =
      resourceOfField(volume, BY_VOLUME) ??
      volume.projected?.sources
        ?.map((source) => resourceOfField(source, BY_SOURCE))
        .find((resource) => resource !== undefined);
    if (found !== undefined) return found;
  }
  return undefined;
}

function resourceOfField<T extends object>(
  reference: T,
  resources: Readonly<Partial<Record<keyof T, string>>>,
): string | undefined {
  const field = (Object.keys(resources) as (keyof T)[]).find((name) => reference[name] !== undefined);
  return field === undefined ? undefined : resources[field];
}
