/**
 * The address of a webhook and the check of its certificate, here from a `clientConfig` (URL or service, caBundle); targets from
 * kubeconfig files are made by the composition. Upstream: apiserver/pkg/util/webhook ClientManager.
 */
import type { WebhookClientConfig } from '../../api/gen/admissionregistration-v1.ts';
import type { TlsOptions } from '../../platform/net.ts';
import type { ResolveService } from './service-resolver.ts';

/** Where to connect, settled again for each call. */
export interface Destination {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface WebhookTarget {
  /** As messages show it, without query: `https://hook.ns.svc:443/validate`. */
  readonly url: string;
  readonly tls: TlsOptions;
  /** Throws StatusErrors when a service cannot be resolved. */
  destination(): Destination | Promise<Destination>;
}

/** A client configuration without a usable address. */
class WebhookTargetError extends Error {
  override readonly name = 'WebhookTargetError';
}

/** The target of a `clientConfig`. Throws {@link WebhookTargetError}. */
export function targetOfClientConfig(config: WebhookClientConfig, resolve: ResolveService): WebhookTarget {
  const trust = config.caBundle === undefined || config.caBundle === '' ? {} : { caPem: caPemOf(config.caBundle) };
  if (config.url !== undefined) {
    const url = withCleanPath(config.url);
    return { url, tls: trust, destination: () => ({ url, headers: {} }) };
  }
  if (config.service === undefined)
    throw new WebhookTargetError('either URL or service must be specified in the client configuration');
  const { namespace, name, port = 443, path = '' } = config.service;
  const serverName = `${name}.${namespace}.svc`;
  const rest = cleanPath(path);
  return {
    url: `https://${serverName}:${port}${path === '' ? '' : rest}`,
    tls: { ...trust, serverName },
    destination() {
      const found = resolve({ namespace, name, port });
      const host = found.host.includes(':') ? `[${found.host}]` : found.host;
      return { url: `https://${host}:${found.port}${rest}`, headers: { host: `${serverName}:${port}` } };
    },
  };
}

/** The path of a URL as client-go's REST client joins it: Go's path.Join. */
function withCleanPath(url: string): string {
  const [origin = url] = /^[^:/?#]+:\/\/[^/?#]*/.exec(url) ?? [];
  const path = url.slice(origin.length);
  return path === '' || /[?#]/.test(path) ? url : `${origin}${cleanPath(path)}`;
}

function cleanPath(path: string): string {
  const segments: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') segments.pop();
    else if (part !== '' && part !== '.') segments.push(part);
  }
  return `/${segments.join('/')}`;
}

function caPemOf(caBundle: string): string {
  const pem = Buffer.from(caBundle, 'base64').toString('utf8');
  if (!pem.includes('-----BEGIN CERTIFICATE-----'))
    throw new WebhookTargetError('unable to load root certificates: unable to parse bytes as PEM block');
  return pem;
}
