/**
 * Front proxies: whoever shows a certificate of their authority says in headers for whom it asks. Without such a
 * certificate the headers mean nothing. Upstream: authentication/request/headerrequest.
 */
import { type ApiRequest, headerLines, type Principal } from '../../api/transport.ts';
import type { RequestHeaderOptions } from '../options/authentication-options.ts';
import type { Authenticator } from './contract.ts';
import { AUTHENTICATED_GROUP } from './client-certificate.ts';

/** Whose certificates count, and which headers are read. */
export type RequestHeaderConfig = Omit<RequestHeaderOptions, 'clientCaFile'> & {
  /** SHA-256 fingerprints of the authority's certificates at the moment, hexadecimal. */
  readonly authorityFingerprints: () => readonly string[];
};

/** Makes the authenticator. */
export function createRequestHeaderAuthenticator(config: RequestHeaderConfig): Authenticator {
  return {
    authenticate(request) {
      const name = first(request, config.usernameHeaders);
      if (name === undefined || !isProxy(request, config)) return undefined;
      const uid = first(request, config.uidHeaders);
      const groups = config.groupHeaders.flatMap((header) => valuesOf(request, header));
      const extra = extraOf(request, config.extraPrefixes);
      return {
        name,
        groups: [...new Set([...groups, AUTHENTICATED_GROUP])],
        ...(uid === undefined ? {} : { uid }),
        ...(Object.keys(extra).length === 0 ? {} : { extra }),
      } satisfies Principal;
    },
  };
}

/** A peer of the proxies' authority is a proxy or nobody: never a user by its certificate's name. */
export function exceptProxies(
  certificates: Authenticator,
  config: Pick<RequestHeaderConfig, 'authorityFingerprints'>,
): Authenticator {
  return {
    authenticate: (request) => (isOfAuthority(request, config) ? undefined : certificates.authenticate(request)),
  };
}

function isOfAuthority(
  { peerCertificate }: ApiRequest,
  { authorityFingerprints }: Pick<RequestHeaderConfig, 'authorityFingerprints'>,
): boolean {
  const issuer = peerCertificate?.issuerFingerprint256;
  return issuer !== undefined && authorityFingerprints().includes(issuer);
}

function isProxy(request: ApiRequest, config: RequestHeaderConfig): boolean {
  if (!isOfAuthority(request, config)) return false;
  return config.allowedNames.length === 0 || config.allowedNames.includes(request.peerCertificate!.commonName);
}

function valuesOf(request: ApiRequest, header: string): string[] {
  return headerLines(request, header).filter((value) => value !== '');
}

function first({ headers }: ApiRequest, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = headers[name]?.trim() ?? '';
    if (value !== '') return value;
  }
  return undefined;
}

function extraOf(request: ApiRequest, prefixes: readonly string[]): Record<string, string[]> {
  const extra: Record<string, string[]> = {};
  for (const header of Object.keys(request.headers)) {
    const prefix = prefixes.find((one) => header.startsWith(one));
    if (prefix === undefined) continue;
    const key = unescaped(header.slice(prefix.length));
    extra[key] = [...(extra[key] ?? []), ...valuesOf(request, header)];
  }
  return extra;
}

/** A key that is no valid percent encoding stands for itself, as upstream. */
function unescaped(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
