/** Warnings about files of one volume that replace each other. Upstream: pkg/api/pod warningsForOverlappingVirtualPaths. */
import { quote } from '../../base/go-quote.ts';
import { trimEndOf } from '../../base/trim-end.ts';
import type { Volume, VolumeProjection } from '../gen/core-v1.ts';

/** A file and its source; the source is empty when the volume has only one. */
interface VolumeFile {
  readonly path: string;
  readonly source: string;
}

/** Longer paths are truncated; headers truncate each text to less. */
const MAX_SHOWN = 1024;

function describe({ path, source }: VolumeFile): string {
  const shown = quote(path.slice(0, MAX_SHOWN));
  return source === '' ? shown : `${shown} (${source})`;
}

/** The limit of files of a volume, and of volumes, that are compared pairwise. */
const MAX_FILES = 100;
const MAX_VOLUMES = 100;
/** The limit of warnings of a pod's volumes, more than fit into a response. */
const MAX_WARNINGS = 100;

/** Pairs of files where the path of one equals the other's or is a directory of it. */
function* overlaps(files: readonly VolumeFile[]): Generator<string> {
  const earlier: { readonly file: VolumeFile; readonly folder: string }[] = [];
  for (const { path, source } of files.slice(0, MAX_FILES)) {
    const file = { path: trimEndOf(path, '/'), source };
    if (file.path === '') continue;
    const folder = `${file.path}/`;
    for (const other of earlier)
      if (folder.startsWith(other.folder) || other.folder.startsWith(folder))
        yield `${describe(file)} with ${describe(other.file)}`;
    earlier.push({ file, folder });
  }
}

function filesOf(items: readonly { readonly path: string }[] | undefined, source = ''): VolumeFile[] {
  return (items ?? []).map(({ path }) => ({ path, source }));
}

/** The files of a projected volume's source. Files of a whole config map or secret are unknown. */
function projectedFiles(source: VolumeProjection): VolumeFile[] {
  const { configMap, secret, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate } = source;
  if (configMap?.items !== undefined) return filesOf(configMap.items, `ConfigMap ${quote(configMap.name ?? '')}`);
  if (secret?.items !== undefined) return filesOf(secret.items, `Secret ${quote(secret.name ?? '')}`);
  if (downwardAPI?.items !== undefined) return filesOf(downwardAPI.items, 'DownwardAPI');
  if (serviceAccountToken !== undefined) return filesOf([serviceAccountToken], 'ServiceAccountToken');
  if (clusterTrustBundle !== undefined) {
    const name = clusterTrustBundle.name ?? clusterTrustBundle.signerName ?? '';
    return filesOf([clusterTrustBundle], `ClusterTrustBundle ${quote(name)}`);
  }
  const { certificateChainPath = '', keyPath = '', credentialBundlePath = '' } = podCertificate ?? {};
  return [
    { path: certificateChainPath, source: 'PodCertificate chain' },
    { path: keyPath, source: 'PodCertificate key' },
    { path: credentialBundlePath, source: 'PodCertificate credential bundle' },
  ].filter(({ path }) => path !== '');
}

function* projectedWarnings(name: string, sources: readonly VolumeProjection[]): Generator<string> {
  for (const source of sources)
    if (Object.values(source).every((part) => part === undefined))
      yield `volume ${quote(name)} (Projected) has no sources provided`;
  yield* overlapWarnings(name, 'Projected', sources.flatMap(projectedFiles));
}

function* overlapWarnings(name: string, description: string, files: readonly VolumeFile[]): Generator<string> {
  for (const pair of overlaps(files)) yield `volume ${quote(name)} (${description}): overlapping paths: ${pair}`;
}

function* warningsOf({ name, configMap, secret, downwardAPI, projected }: Volume): Generator<string> {
  yield* overlapWarnings(name, `ConfigMap ${quote(configMap?.name ?? '')}`, filesOf(configMap?.items));
  yield* overlapWarnings(name, `Secret ${quote(secret?.secretName ?? '')}`, filesOf(secret?.items));
  yield* overlapWarnings(name, 'DownwardAPI', filesOf(downwardAPI?.items));
  yield* projectedWarnings(name, projected?.sources ?? []);
}

/** Warnings about a pod's volumes with files from API objects. */
export function volumePathWarnings(volumes: readonly Volume[]): string[] {
  const warnings: string[] = [];
  for (const volume of volumes.slice(0, MAX_VOLUMES))
    for (const text of warningsOf(volume)) if (warnings.push(text) >= MAX_WARNINGS) return warnings;
  return warnings;
}
