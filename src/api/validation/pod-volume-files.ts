/**
 * Validation of volumes whose files the kubelet writes: secrets, config maps, the downward API, and projected volumes. Upstream:
 * apis/core/validation validateProjectionSources and what it calls.
 */
import type { Field } from '../field-error.ts';
import type {
  ClusterTrustBundleProjection,
  DownwardAPIVolumeFile,
  KeyToPath,
  PodCertificateProjection,
  ServiceAccountTokenProjection,
  Volume,
  VolumeProjection,
} from '../gen/core-v1.ts';
import { isDns1123Subdomain } from '../names.ts';
import { validateSignerName } from './certificates.ts';
import { validateFieldRef, validateResourceFieldRef } from './pod-environment.ts';
import { validateLabelSelector } from './selectors.ts';
import { validateLocalPath } from './volume-sources.ts';

const DOWNWARD_PATHS = [
  'metadata.name',
  'metadata.namespace',
  'metadata.labels',
  'metadata.annotations',
  'metadata.uid',
];
const MODE_TEXT = 'must be a number between 0 and 0777 (octal), both inclusive';

/** Validates the sources of a volume whose files the kubelet writes. */
export function validateFileVolumes(volume: Volume, field: Field): void {
  const { secret, configMap, downwardAPI, projected } = volume;
  if (secret !== undefined) {
    if ((secret.secretName ?? '') === '') field.at('secret').at('secretName').required();
    validateMode(secret.defaultMode, field.at('secret').at('defaultMode'));
    validateItems(secret.items, field.at('secret').at('items'));
  }
  if (configMap !== undefined) {
    if ((configMap.name ?? '') === '') field.at('configMap').at('name').required();
    validateMode(configMap.defaultMode, field.at('configMap').at('defaultMode'));
    validateItems(configMap.items, field.at('configMap').at('items'));
  }
  if (downwardAPI !== undefined) {
    validateMode(downwardAPI.defaultMode, field.at('downwardAPI').at('defaultMode'));
    validateDownwardFiles(downwardAPI.items, field.at('downwardAPI'));
  }
  if (projected !== undefined) {
    validateMode(projected.defaultMode, field.at('projected').at('defaultMode'));
    validateProjections(projected.sources ?? [], field.at('projected'));
  }
}

function validateMode(mode: number | undefined, field: Field): void {
  if (mode !== undefined && (mode < 0 || mode > 0o777)) field.invalid(mode, MODE_TEXT);
}

/** Validates a path inside such a volume. Names that begin with two dots are reserved for the kubelet. */
function validateLocalFilePath(path: string, field: Field): void {
  validateLocalPath(path, field);
  if (path.startsWith('..') && !path.startsWith('../')) field.invalid(path, "must not start with '..'");
}

function validateItems(items: readonly KeyToPath[] | undefined, field: Field): void {
  for (const [index, item] of (items ?? []).entries()) {
    const place = field.item(index);
    if ((item.key ?? '') === '') place.at('key').required();
    if ((item.path ?? '') === '') place.at('path').required();
    validateLocalFilePath(item.path ?? '', place.at('path'));
    validateMode(item.mode, place.at('mode'));
  }
}

/** Validates files of the downward API. As upstream, errors are reported at the volume, without an index. */
function validateDownwardFiles(files: readonly DownwardAPIVolumeFile[] | undefined, field: Field): void {
  for (const file of files ?? []) {
    if ((file.path ?? '') === '') field.at('path').required();
    validateLocalFilePath(file.path ?? '', field.at('path'));
    if (file.fieldRef !== undefined) {
      validateFieldRef(file.fieldRef, DOWNWARD_PATHS, field.at('fieldRef'));
      if (file.resourceFieldRef !== undefined)
        field.invalid('resource', 'fieldRef and resourceFieldRef can not be specified simultaneously');
    } else if (file.resourceFieldRef !== undefined) {
      validateResourceFieldRef(file.resourceFieldRef, true, field.at('resourceFieldRef'));
    } else {
      field.required('one of fieldRef and resourceFieldRef is required');
    }
    validateMode(file.mode, field.at('mode'));
  }
}

/** The paths of one projected volume, which must be unique. */
class TakenPaths {
  readonly #paths = new Set<string>();
  readonly #field: Field;
  constructor(field: Field) {
    this.#field = field;
  }
  take(path: string, shown: string | undefined): void {
    if (this.#paths.has(path)) this.#field.invalid(shown ?? '', 'conflicting duplicate paths');
    this.#paths.add(path);
  }
}

function validateProjections(sources: readonly VolumeProjection[], field: Field): void {
  const taken = new TakenPaths(field);
  for (const [index, source] of sources.entries()) {
    const place = field.at('sources').item(index);
    for (const name of ['secret', 'configMap'] as const) {
      const projection = source[name];
      if (projection === undefined) continue;
      if ((projection.name ?? '') === '') place.at(name).at('name').required();
      validateItems(projection.items, place.at(name).at('items'));
      for (const { path } of projection.items ?? []) if (path) taken.take(path, projection.name);
    }
    validateDownwardFiles(source.downwardAPI?.items, place.at('downwardAPI'));
    for (const { path } of source.downwardAPI?.items ?? []) if (path) taken.take(path, path);
    const { serviceAccountToken: token, clusterTrustBundle: bundle, podCertificate: certificate } = source;
    if (token !== undefined) validateToken(token, { place: place.at('serviceAccountToken'), volume: field });
    if (bundle !== undefined) {
      validateTrustBundle(bundle, place.at('clusterTrustBundle'));
      taken.take(bundle.path ?? '', bundle.path);
    }
    if (certificate !== undefined) validatePodCertificate(certificate, taken, place.at('podCertificate'));
    const kinds = Object.values(source).filter((one) => one !== undefined).length;
    if (kinds > 1) place.forbidden('may not specify more than 1 volume type per source');
  }
}

/** As upstream, errors of a token's path are reported at the volume. */
function validateToken(
  { expirationSeconds = 3600, path = '' }: ServiceAccountTokenProjection,
  { place, volume }: { readonly place: Field; readonly volume: Field },
): void {
  const expiration = place.at('expirationSeconds');
  if (expirationSeconds < 600) expiration.invalid(expirationSeconds, 'may not specify a duration less than 10 minutes');
  if (expirationSeconds > 2 ** 32)
    expiration.invalid(expirationSeconds, 'may not specify a duration larger than 2^32 seconds');
  if (path === '') volume.at('path').required();
  else validateLocalFilePath(path, volume.at('path'));
}

function validateTrustBundle(bundle: ClusterTrustBundleProjection, field: Field): void {
  const { name, signerName, labelSelector, path = '' } = bundle;
  if (name !== undefined && signerName !== undefined)
    field.invalid(bundle, 'only one of name and signerName may be used');
  else if (name !== undefined) {
    if (name === '') field.at('name').required('must be a valid object name');
    const problems = trustBundleNameProblems(name);
    field.at('name').complain(
      name,
      problems.map((text) => `not a valid clustertrustbundlename: ${text}`),
    );
    if (labelSelector !== undefined)
      field.at('labelSelector').invalid(labelSelector, 'labelSelector must be unset if name is specified');
  } else if (signerName !== undefined) {
    if (signerName === '') field.at('signerName').required('must be a valid signer name');
    validateSignerName(signerName, field.at('signerName'));
    validateLabelSelector(labelSelector, field.at('labelSelector'));
  } else field.required('either name or signerName must be specified');
  if (path === '') field.at('path').required();
  validateLocalFilePath(path, field.at('path'));
}

/** The name of a signer's bundle must begin with the signer's name, with colons in place of slashes. */
function trustBundleNameProblems(name: string): string[] {
  return isDns1123Subdomain(name.slice(name.lastIndexOf(':') + 1));
}

const KEY_TYPES = ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519'];
const SHORTEST_SECONDS = 3600;
const LONGEST_SECONDS = 91 * 86_400;
const LONGEST_OF_KUBERNETES = 86_400;

function validatePodCertificate(certificate: PodCertificateProjection, taken: TakenPaths, field: Field): void {
  const { signerName = '', keyType = '', maxExpirationSeconds: seconds } = certificate;
  validateSignerName(signerName, field.at('signerName'));
  if (!KEY_TYPES.includes(keyType)) field.at('keyType').notSupported(keyType, KEY_TYPES);
  const ofKubernetes = /^(?:.*\.)?kubernetes\.io$/.test(signerName.split('/')[0]!);
  const most = ofKubernetes ? LONGEST_OF_KUBERNETES : LONGEST_SECONDS;
  const place = field.at('maxExpirationSeconds');
  if (seconds !== undefined && seconds < SHORTEST_SECONDS)
    place.invalid(seconds, `if provided, maxExpirationSeconds must be >= ${SHORTEST_SECONDS}`);
  if (seconds !== undefined && seconds > most)
    place.invalid(seconds, `if provided, maxExpirationSeconds must be <= ${most}`);
  const names = ['credentialBundlePath', 'keyPath', 'certificateChainPath'] as const;
  for (const name of names) {
    const path = certificate[name] ?? '';
    if (path === '') continue;
    validateLocalFilePath(path, field.at(name));
    taken.take(path, path);
  }
  if (names.every((name) => (certificate[name] ?? '') === ''))
    field.required('specify at least one of credentialBundlePath, keyPath, and certificateChainPath');
}
