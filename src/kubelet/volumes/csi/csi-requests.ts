/**
 * API objects that are part of a driver's requests: secrets, tokens and the CSIDriver. Upstream:
 * pkg/volume/csi/csi_mounter.go.
 */
import type { TokenRequest } from '../../../api/gen/authentication-v1.ts';
import type { Pod } from '../../../api/gen/core-v1.ts';
import { CSIDrivers } from '../../../api/gen/resources.ts';
import type { CSIDriver } from '../../../api/gen/storage-v1.ts';
import { isReason } from '../../../api/status-error.ts';
import { formatTime } from '../../../api/time.ts';
import { secretValues } from '../secret-values.ts';
import type { CsiContext } from './csi-context.ts';
import { podInfoContext, type CsiVolume } from './csi-volume.ts';

const TOKENS = 'csi.storage.k8s.io/serviceAccount.tokens';
const DEFAULT_TOKEN_SECONDS = 3600;

/** The CSIDriver object; undefined when the driver has none. */
export async function csiDriverObject(
  { client }: Pick<CsiContext, 'client'>,
  name: string,
): Promise<CSIDriver | undefined> {
  try {
    return await client.resource(CSIDrivers).get({ name });
  } catch (error) {
    if (isReason(error, 'NotFound')) return undefined;
    throw error;
  }
}

/** The pod's part of a driver's request. */
export interface PodPart {
  readonly volumeContext: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  /** The delay after which the volume is published again, if the driver requires it. */
  readonly refreshAfterMs: number | undefined;
}

/**
 * The period in which a volume is published again for drivers that require it; upstream does so at a pod's next sync.
 */
const REPUBLISH_MS = 60_000;

/** Context, secrets and tokens for NodePublishVolume. */
export async function podPart(
  context: CsiContext,
  input: { readonly pod: Pod; readonly volume: CsiVolume; readonly object: CSIDriver | undefined },
): Promise<PodPart> {
  const { pod, volume, object } = input;
  const secrets = await secretValues(context.client, volume.publishSecret);
  const tokens = await tokensFor(context, pod, object);
  const inSecrets = object?.spec.serviceAccountTokenInSecrets === true;
  const tokenEntry: Record<string, string> = tokens === undefined ? {} : { [TOKENS]: tokens };
  return {
    volumeContext: {
      ...volume.attributes,
      ...(object?.spec.podInfoOnMount === true ? podInfoContext(pod, volume) : {}),
      ...(inSecrets ? {} : tokenEntry),
    },
    secrets: { ...secrets, ...(inSecrets ? tokenEntry : {}) },
    refreshAfterMs: object?.spec.requiresRepublish === true ? REPUBLISH_MS : undefined,
  };
}

async function tokensFor(context: CsiContext, pod: Pod, object: CSIDriver | undefined): Promise<string | undefined> {
  const requests = object?.spec.tokenRequests ?? [];
  if (requests.length === 0) return undefined;
  const { namespace = '', name = '', uid = '' } = pod.metadata;
  const tokens: Record<string, object> = {};
  for (const { audience, expirationSeconds = DEFAULT_TOKEN_SECONDS } of requests) {
    const request: TokenRequest = {
      metadata: {},
      spec: {
        audiences: audience === '' ? [] : [audience],
        expirationSeconds,
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
      },
    };
    const { token, expiresAtMs } = await context.tokens.get(
      namespace,
      pod.spec?.serviceAccountName ?? 'default',
      request,
    );
    tokens[audience] = { token, expirationTimestamp: formatTime(expiresAtMs) };
  }
  return JSON.stringify(tokens);
}
