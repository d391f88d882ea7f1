/**
 * Decides whether a pod may use an image that is present on the node: with the credentials of an earlier pull, or by
 * pulling it with its own. Upstream: pkg/kubelet/images/pullmanager (image_pull_manager.go, image_pull_policies.go).
 *
 * An image without a record was present before ("preloaded"). When records cannot be read, a pull decides.
 */
import { errorMessage } from '../../base/errors.ts';
import { parseTime } from '../../api/time.ts';
import type { CriImageService } from '../../cri/gen/cri-types.ts';
import { parseImageReference, type ImageReference } from '../../api/image-reference.ts';
import type { SourcedCredential } from './pull-credentials.ts';
import { createPullRecords, type PullCredentialsRecord, type PullRecordsDeps } from './pull-records.ts';
import { knowsSecret, isSameObject, recordOf, merge } from './credential-records.ts';

/** Which images are verified, in upstream's words. */
export const VERIFICATION_POLICIES = [
  'NeverVerify',
  'NeverVerifyPreloadedImages',
  'NeverVerifyAllowlistedImages',
  'AlwaysVerify',
] as const;

export type VerificationPolicy = (typeof VERIFICATION_POLICIES)[number];

export interface PullVerificationConfig {
  readonly policy: VerificationPolicy;
  /** Names without tag, or prefixes that end in `/*`; only for the allowlist policy. */
  readonly allowlist: readonly string[];
  /** Directory of the records. */
  readonly directory: string;
}

export interface PullVerificationDeps extends PullRecordsDeps {
  readonly images: Pick<CriImageService, 'listImages'>;
}

/** Decides, and keeps the records. */
export interface PullVerification {
  /** Whether a present image must be pulled before the pod may use it. Asks for the pod's credentials only if they matter. */
  mustPull(
    reference: ImageReference,
    imageId: string,
    credentials: () => Promise<readonly SourcedCredential[]>,
  ): Promise<boolean>;
  /** Call before a pull. Rejects when the intent cannot be recorded: nothing may be pulled then. */
  begin(reference: ImageReference): Promise<void>;
  /** Call after a pull with this credential; undefined: without any. Never rejects. */
  pulled(reference: ImageReference, imageId: string, used: SourcedCredential | undefined): Promise<void>;
  /** Call after a failed pull. Never rejects. */
  failed(reference: ImageReference): Promise<void>;
  /** Removes the records of other images, unless they were pulled since. */
  retain(imageIds: readonly string[], sinceMs: number): Promise<void>;
}

const nameOf = ({ registry, path }: ImageReference): string => `${registry}/${path}`;

/** Why a pattern is invalid; undefined: it is valid. */
export function allowlistComplaint(pattern: string): string | undefined {
  if (pattern !== pattern.trim()) return `leading/trailing spaces are not allowed: ${pattern}`;
  const wildcard = pattern.endsWith('/*');
  const bare = wildcard ? pattern.slice(0, -1) : pattern;
  if (bare === '') return `the supplied pattern is too short: ${pattern}`;
  if (bare.includes('*')) return `not a valid wildcard pattern, only patterns ending with '/*' are allowed: ${pattern}`;
  if (wildcard) return bare === '/' ? 'at least registry hostname is required' : undefined;
  try {
    return nameOf(parseImageReference(bare)) === bare
      ? undefined
      : `neither tag nor digest is accepted in an image reference: ${pattern}`;
  } catch (error) {
    return `failed to parse as an image name: ${errorMessage(error)}`;
  }
}

function needsVerification({ policy, allowlist }: PullVerificationConfig, name: string, byKubelet: boolean): boolean {
  if (policy === 'NeverVerify') return false;
  if (policy === 'NeverVerifyPreloadedImages') return byKubelet;
  if (policy === 'AlwaysVerify') return true;
  return !allowlist.some((entry) => (entry.endsWith('/*') ? name.startsWith(entry.slice(0, -1)) : name === entry));
}

/** Records are read at the first call. */
export function createPullVerification(deps: PullVerificationDeps, config: PullVerificationConfig): PullVerification {
  const { log, crypto } = deps;
  const records = createPullRecords(deps, config.directory);
  let ready: Promise<void> | undefined;

  /** Handles pulls that an earlier process did not finish: their images count as pulled with unknown credentials. */
  async function settle(): Promise<void> {
    await records.load();
    const left = new Map(records.pulling().map((image) => [fullNameOf(image), image]));
    if (left.size === 0) return;
    for (const { id, repoTags, repoDigests } of (await deps.images.listImages({})).images)
      for (const name of [...repoTags, ...repoDigests]) {
        const image = left.get(fullNameOf(name));
        if (image === undefined) continue;
        if (records.pulled(id) === undefined) await records.writePulled(id, {});
        await records.end(image);
      }
  }

  function settled(): Promise<void> {
    ready ??= settle().catch((error: unknown) => {
      ready = undefined;
      throw error;
    });
    return ready;
  }

  const hashOf = ({ credential }: SourcedCredential): string => crypto.sha256Hex(JSON.stringify(credential));

  async function note(imageId: string, name: string, added: PullCredentialsRecord): Promise<void> {
    const record = records.pulled(imageId);
    const mapping = record === undefined || record === 'unreadable' ? {} : record.credentialMapping;
    const merged = merge(mapping[name], added);
    if (merged !== undefined) await records.writePulled(imageId, { ...mapping, [name]: merged });
  }

  async function accessible(
    { reference, imageId, known }: { reference: ImageReference; imageId: string; known: PullCredentialsRecord },
    credentials: readonly SourcedCredential[],
  ): Promise<boolean> {
    const { kubernetesSecrets: secrets = [], kubernetesServiceAccounts: accounts = [] } = known;
    for (const sourced of credentials) {
      const { source } = sourced;
      if (source === undefined || !('secret' in source)) continue;
      const own = { ...source.secret, credentialHash: hashOf(sourced) };
      const answer = knowsSecret(secrets, own);
      if (answer === 'new')
        await note(imageId, nameOf(reference), { kubernetesSecrets: [own] }).catch((error: unknown) =>
          log.error('failed to write an image pulled record', { image: reference.pullName, err: error }),
        );
      if (answer !== false) return true;
    }
    const own = credentials.flatMap(({ source }) =>
      source && 'serviceAccount' in source ? [source.serviceAccount] : [],
    );
    return own.some((account) => accounts.some((each) => isSameObject(each, account)));
  }

  return {
    async mustPull(reference, imageId, credentials) {
      try {
        await settled();
      } catch (error) {
        log.error('Unable to access cache records about image pulls', { err: error });
        return true;
      }
      const record = records.pulled(imageId);
      const byKubelet = record !== undefined || records.pulling().includes(reference.pullName);
      if (!needsVerification(config, nameOf(reference), byKubelet)) return false;
      if (record === undefined || record === 'unreadable') return true;
      const pullCredentialsRecord = record.credentialMapping[nameOf(reference)];
      if (pullCredentialsRecord === undefined) return true;
      if (pullCredentialsRecord.nodePodsAccessible) return false;
      if (!pullCredentialsRecord.kubernetesSecrets?.length && !pullCredentialsRecord.kubernetesServiceAccounts?.length)
        return true;
      return !(await accessible({ reference, imageId, known: pullCredentialsRecord }, await credentials()));
    },
    async begin({ pullName }) {
      await settled();
      await records.begin(pullName);
    },
    async pulled(reference, imageId, used) {
      try {
        await note(imageId, nameOf(reference), recordOf(used?.source, used === undefined ? '' : hashOf(used)));
        await records.end(reference.pullName);
      } catch (error) {
        // The intent is kept: the image counts as pulled, and its next use is verified.
        log.error('failed to write image pulled record', { image: reference.pullName, err: error });
      }
    },
    failed: ({ pullName }) =>
      records
        .end(pullName)
        .catch((error: unknown) => log.error('failed to remove image pull intent', { image: pullName, err: error })),
    async retain(imageIds, sinceMs) {
      await settled();
      const here = new Set(imageIds);
      const sinceSecondMs = Math.floor(sinceMs / 1000) * 1000;
      for (const { imageRef, lastUpdatedTime } of records.allPulled())
        if (!here.has(imageRef) && parseTime(lastUpdatedTime) < sinceSecondMs) await records.removePulled(imageRef);
    },
  };
}

/** The normalized name of an image, with default registry and path. */
function fullNameOf(image: string): string {
  try {
    const reference = parseImageReference(image);
    return `${nameOf(reference)}@${reference.digest ?? reference.tag ?? 'latest'}`;
  } catch {
    return image; // such a name cannot be pulled
  }
}
