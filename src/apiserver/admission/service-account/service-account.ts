/**
 * ServiceAccount: sets each pod's account, the account's pull secrets and the volume with its token. Mirror pods are
 * not changed, but may not refer to accounts or secrets (NodeRestriction forbids more). Upstream:
 * plugin/pkg/admission/serviceaccount.
 */
import { podContainers } from '../../../api/pod-containers.ts';
import type { Container, Pod, PodSpec, ServiceAccount, Volume, VolumeProjection } from '../../../api/gen/core-v1.ts';
import { ServiceAccounts } from '../../../api/gen/resources.ts';
import type { Random } from '../../../platform/random.ts';
import { secretNames } from '../../../component-helpers/pod-references.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import { recordFault } from '../../refused-requests/refusal-source.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';
import { refusal } from '../refusal.ts';
import { isLimited, secretProblem } from './mountable-secrets.ts';

const MIRROR = 'kubernetes.io/config.mirror';
const VOLUME_PREFIX = 'kube-api-access-';
const MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Upstream's lifetime of tokens. The kubelet renews them earlier. */
const TOKEN_SECONDS = 3607;

export function createServiceAccount(objects: () => ObjectStore, random: Random): AdmissionPlugin {
  return {
    name: 'ServiceAccount',
    handles: (operation, resource, subresource) =>
      resource.group === '' &&
      resource.resource === 'pods' &&
      (operation === 'CREATE' ? subresource === '' : operation === 'UPDATE' && subresource === 'ephemeralcontainers'),
    validate(attributes) {
      const { metadata, spec } = attributes.object as Pod;
      if (spec === undefined || metadata.annotations?.[MIRROR] !== undefined) return;
      const account = objects().get(ServiceAccounts, attributes.namespace, spec.serviceAccountName ?? '');
      if (account !== undefined) return checkSecrets(attributes, account, spec);
      // Another server may have just created it.
      return objects()
        .getFresh(ServiceAccounts, attributes.namespace, spec.serviceAccountName ?? '')
        .then((fresh) => {
          if (fresh !== undefined) checkSecrets(attributes, fresh, spec);
        });
    },
    mutate(attributes) {
      if (attributes.operation !== 'CREATE') return undefined;
      const pod = attributes.object as Pod;
      const spec = pod.spec;
      if (spec === undefined) return undefined;
      if (pod.metadata.annotations?.[MIRROR] !== undefined) return checkMirror(attributes, spec);
      if ((spec.serviceAccountName ?? '') === '') spec.serviceAccountName = 'default';
      spec.serviceAccount = spec.serviceAccountName ?? 'default';
      const name = spec.serviceAccountName ?? 'default';
      const cached = objects().get(ServiceAccounts, attributes.namespace, name);
      if (cached !== undefined) return give(spec, cached, random);
      // Another server may have just created it.
      return objects()
        .getFresh(ServiceAccounts, attributes.namespace, name)
        .then((fresh) => {
          if (fresh === undefined) throw missingAccount(attributes, name);
          give(spec, fresh, random);
        });
    },
  };
}

function missingAccount(attributes: AdmissionAttributes, name: string): Error {
  const { namespace } = attributes;
  const why = `error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found`;
  return recordFault(refusal(attributes, why), ServiceAccounts, { namespace, name });
}

function checkSecrets(attributes: AdmissionAttributes, account: ServiceAccount, spec: PodSpec): void {
  if (!isLimited(account)) return;
  const { ephemeralContainers } = spec;
  const added = { containers: [], ...(ephemeralContainers && { ephemeralContainers }) };
  const problem = secretProblem(account, attributes.operation === 'CREATE' ? spec : added);
  if (problem !== undefined) throw refusal(attributes, problem);
}

function give(spec: PodSpec, account: ServiceAccount, random: Random): void {
  if (automounts(account, spec)) mountToken(spec, random);
  if ((spec.imagePullSecrets ?? []).length === 0 && (account.imagePullSecrets ?? []).length > 0) {
    spec.imagePullSecrets = [...(account.imagePullSecrets ?? [])];
  }
}

/** The pod's field takes precedence over the account's; default true. */
function automounts(account: ServiceAccount, spec: PodSpec): boolean {
  return spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true;
}

function mountToken(spec: PodSpec, random: Random): void {
  const mounts = (c: Container): boolean => (c.volumeMounts ?? []).some((m) => m.mountPath === MOUNT_PATH);
  const needing = podContainers(spec).filter((c) => !mounts(c));
  if (needing.length === 0) return;
  // In a second pass (reinvocation) the first pass's volume exists.
  const existing = (spec.volumes ?? []).find((volume) => volume.name.startsWith(VOLUME_PREFIX))?.name;
  const name = existing ?? `${VOLUME_PREFIX}${random.nameSuffix(5)}`;
  for (const container of needing) {
    container.volumeMounts = (container.volumeMounts ?? []).concat({ name, readOnly: true, mountPath: MOUNT_PATH });
  }
  if (existing === undefined) spec.volumes = (spec.volumes ?? []).concat(tokenVolume(name));
}

/** Frozen, because nearly every pod shares them. */
const TOKEN_SOURCES: readonly VolumeProjection[] = [
  { serviceAccountToken: { expirationSeconds: TOKEN_SECONDS, path: 'token' } },
  { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
  { downwardAPI: { items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }] } },
].map(frozen);

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}

function tokenVolume(name: string): Volume {
  return { name, projected: { defaultMode: 0o644, sources: TOKEN_SOURCES.slice() } };
}

function checkMirror(attributes: AdmissionAttributes, spec: PodSpec): void {
  if ((spec.serviceAccountName ?? '') !== '')
    throw refusal(attributes, 'a mirror pod may not reference service accounts');
  const volumes = spec.volumes ?? [];
  if (secretNames(attributes.object as Pod).size > 0)
    throw refusal(attributes, 'a mirror pod may not reference secrets');
  if (volumes.some((v) => v.projected?.sources?.some((s) => s.serviceAccountToken !== undefined) === true)) {
    throw refusal(attributes, 'a mirror pod may not use ServiceAccountToken volume projections');
  }
}
