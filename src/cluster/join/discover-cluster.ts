/**
 * Discovers the cluster to join: reads `cluster-info` from an untrusted server, trusts those of its authorities whose
 * keys are pinned, and with them and the token reads the settings that all nodes share. Further authorities are
 * trusted only if a server with a certificate of the pinned ones returns them too. Upstream: kubeadm's token
 * discovery and kubelet-config.
 */
import { parse } from 'yaml';
import { isReason, StatusError } from '../../api/status-error.ts';
import { ConfigMaps } from '../../api/gen/resources.ts';
import { errorMessage } from '../../base/errors.ts';
import { createRestClient } from '../../client/rest-client.ts';
import { readCertificate } from '../../component-helpers/pki/read-certificate.ts';
import { certificateBlocks } from '../../platform/certificate-blocks.ts';
import type { TlsOptions } from '../../platform/net.ts';
import type { Platform } from '../../platform/platform.ts';
import { PreflightError } from '../preflight-error.ts';
import { FLANNEL_BACKENDS, type FlannelBackend } from '../instance/instance.ts';
import type { JoinToken } from './join-token.ts';

const PATIENCE_MS = 5 * 60_000;
const RETRY_MS = 1_000;
const ANSWER_MS = 10_000;

export interface JoinedCluster {
  readonly caPem: string;
  readonly clusterCidr: string;
  readonly serviceCidr: string;
  readonly clusterDomain: string;
  readonly cni: 'keelson' | 'none';
  readonly dns: 'keelson' | 'none';
  readonly flannelBackend: FlannelBackend;
  /** All that the cluster publishes, by key. Absent for a machine that joined earlier. */
  readonly published?: Readonly<Record<string, string>>;
}

type Deps = Pick<Platform, 'net' | 'clock' | 'crypto' | 'log'>;

/**
 * Uses the first server that answers, and waits up to five minutes for one. Throws `PreflightError`, or the signal's
 * reason.
 */
export async function discoverCluster(
  deps: Deps,
  servers: readonly string[],
  token: JoinToken,
  signal: AbortSignal,
): Promise<JoinedCluster> {
  const deadlineMs = deps.clock.monotonicMs() + PATIENCE_MS;
  for (let attempt = 0; ; attempt++) {
    const server = servers[attempt % servers.length] ?? '';
    try {
      const caPem = await trustedAuthority(deps, server, token);
      return { caPem, ...(await sharedSettings(deps, { server, caPem, token: token.bootstrapToken })) };
    } catch (error) {
      signal.throwIfAborted();
      if (!mayPass(error) || deps.clock.monotonicMs() > deadlineMs)
        throw new PreflightError(`cannot join through ${server}: ${errorMessage(error)}`);
      if (attempt === 0) deps.log.info('waiting for a server', { server, err: error });
    }
    await deps.clock.sleep(RETRY_MS, signal);
  }
}

async function trustedAuthority(deps: Deps, server: string, { caHashes }: JoinToken): Promise<string> {
  const published = await publishedAuthority(deps, server, { insecureSkipVerify: true });
  const pinned = pinnedCertificates(deps, published, caHashes);
  if (pinned === '') throw new PreflightError('its certificate authority is not the one the token was made for');
  if (pinned === published) return pinned;
  const confirmed = await publishedAuthority(deps, server, { caPem: pinned });
  if (confirmed !== published)
    throw new PreflightError('what it publishes over the verified connection is not what it published before');
  return confirmed;
}

async function publishedAuthority(deps: Deps, server: string, tls: TlsOptions): Promise<string> {
  const stranger = createRestClient({ ...deps, server, tls, timeoutMs: ANSWER_MS, userAgent: 'keelson-agent' });
  const info = await stranger.resource(ConfigMaps).get({ namespace: 'kube-public', name: 'cluster-info' });
  return Buffer.from(authorityOf(info.data?.['kubeconfig'] ?? ''), 'base64').toString('utf8');
}

/** The certificates with a pinned key; '' when there are none. */
function pinnedCertificates(deps: Deps, pem: string, hashes: readonly string[]): string {
  try {
    const isPinned = (block: string): boolean => hashes.includes(readCertificate(deps, block).publicKeyHash);
    return certificateBlocks(pem).filter(isPinned).join('');
  } catch {
    return '';
  }
}

/** The authority in the published kubeconfig, which has neither user nor context; '' without one. */
function authorityOf(text: string): string {
  const { clusters } = parse(text) as {
    clusters?: readonly { readonly cluster?: { readonly 'certificate-authority-data'?: string } }[];
  };
  return clusters?.[0]?.cluster?.['certificate-authority-data'] ?? '';
}

/** Whether a retry may succeed: no server answered, or it is starting. */
function mayPass(error: unknown): boolean {
  if (error instanceof StatusError) return error.code >= 500 || error.code === 429 || error.code === 404;
  return typeof (error as { code?: unknown }).code === 'string';
}

const ours = (who: string | undefined): 'keelson' | 'none' => (who === 'none' ? 'none' : 'keelson');

/** A backend that this version does not know is refused: its traffic would be plain. */
function backendOf(text = 'vxlan'): FlannelBackend {
  const backend = FLANNEL_BACKENDS.find((known) => known === text);
  if (backend === undefined)
    throw new PreflightError(`the cluster’s --flannel-backend ${text} is unknown to this version`);
  return backend;
}

async function sharedSettings(
  deps: Deps,
  { server, caPem, token }: { server: string; caPem: string; token: string },
): Promise<Omit<JoinedCluster, 'caPem'>> {
  const client = createRestClient({
    ...deps,
    server,
    tls: { caPem },
    token,
    timeoutMs: ANSWER_MS,
    userAgent: 'keelson-agent',
  });
  try {
    const { data } = await client.resource(ConfigMaps).get({ namespace: 'kube-system', name: 'keelson-config' });
    const { clusterCidr, serviceCidr, clusterDomain, cni, dns, flannelBackend } = data ?? {};
    if (clusterCidr === undefined || serviceCidr === undefined || clusterDomain === undefined)
      throw new PreflightError('the cluster does not publish its settings (ConfigMap kube-system/keelson-config)');
    return {
      clusterCidr,
      serviceCidr,
      clusterDomain,
      cni: ours(cni),
      dns: ours(dns),
      flannelBackend: backendOf(flannelBackend),
      published: data ?? {},
    };
  } catch (error) {
    if (isReason(error, 'Unauthorized')) throw new PreflightError('the token is unknown there or its time is over');
    throw error;
  }
}
