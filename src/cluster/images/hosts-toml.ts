/** Writes containerd's `hosts.toml` files. Pure. */
import type { RegistryEndpoint, RegistryMirror } from './registries-file.ts';

/** First line of the written files: others belong to the user. */
export const WRITTEN_MARK = '# Written by Keelson from registries.yaml';

/** How containerd reaches an endpoint through the proxy that rewrites names. */
export interface ProxiedEndpoint {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The file of its authority. */
  readonly caFile: string;
}

/** `proxied`: undefined for endpoints that containerd asks itself. */
export function hostsToml(
  { server, endpoints, tls = {} }: RegistryMirror,
  proxied: (endpoint: RegistryEndpoint) => ProxiedEndpoint | undefined,
): string {
  const lines = endpoints.flatMap((endpoint) => {
    const proxy = proxied(endpoint);
    return proxy === undefined ? hostLines(endpoint) : proxiedLines(proxy);
  });
  const top = [...(server === undefined ? [] : [`server = ${quoted(server)}`]), ...tlsLines(tls, '')];
  return `${[WRITTEN_MARK, ...top, ...lines].join('\n')}\n`;
}

const quoted = (value: unknown): string => JSON.stringify(value);

function hostLines({ url, overridePath, tls = {} }: RegistryEndpoint): string[] {
  return [
    '',
    `[host.${quoted(url)}]`,
    '  capabilities = ["pull", "resolve"]',
    ...(overridePath ? ['  override_path = true'] : []),
    ...tlsLines(tls, '  '),
  ];
}

function proxiedLines({ url, headers, caFile }: ProxiedEndpoint): string[] {
  return [
    ...hostLines({ url, overridePath: true, tls: { ca_file: caFile } }),
    `  [host.${quoted(url)}.header]`,
    ...Object.entries(headers).map(([name, value]) => `    ${name} = ${quoted(value)}`),
  ];
}

function tlsLines(tls: NonNullable<RegistryEndpoint['tls']>, indent: string): string[] {
  return [
    ...(tls.ca_file === undefined ? [] : [`${indent}ca = ${quoted(tls.ca_file)}`]),
    ...(tls.cert_file === undefined ? [] : [`${indent}client = [[${quoted(tls.cert_file)}, ${quoted(tls.key_file)}]]`]),
    ...(tls.insecure_skip_verify === true ? [`${indent}skip_verify = true`] : []),
  ];
}
