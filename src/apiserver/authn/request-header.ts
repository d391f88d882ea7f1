/**
 * Front proxies: a client with a certificate of their authority names the user in headers. Without such a certificate
 * the headers are ignored. Upstream: authentication/request/headerrequest.
 */
import type { ApiRequest, Principal } from '../../api/transport.ts';
import type { RequestHeaderOptions } from '../options/authentication-options.ts';
import type { Authenticator } from './contract.ts';
import { AUTHENTICATED_GROUP } from './client-certificate.ts';
import { addExtra, type HeaderExtra, nameInHeader, namesInHeader } from './header-names.ts';

/** The proxies' certificates, and the headers that carry the user. */
export type RequestHeaderConfig = Omit<RequestHeaderOptions, 'clientCaFile'> & {
  /** SHA-256 fingerprints (hexadecimal) of the current certificates of the proxies' authority. */
  readonly authorityFingerprints: () => readonly string[];
  /** The same of the authorities of client certificates. */
  readonly clientFingerprints: () => readonly string[];
};

export function createRequestHeaderAuthenticator(config: RequestHeaderConfig): Authenticator {
  return {
    authenticate(request) {
      if (!isProxy(request, config)) return undefined;
      const name = first(request, config.usernameHeaders);
      if (name === undefined) return undefined;
      const uid = first(request, config.uidHeaders);
      const groups = config.groupHeaders.flatMap((header) => valuesOf(request, header));
      const extra = extraOf(request, config.extraPrefixes);
      return {
        name,
        groups: [...new Set([...groups, AUTHENTICATED_GROUP])],
        uid,
        extra: Object.keys(extra).length === 0 ? undefined : extra,
      } satisfies Principal;
    },
  };
}

/**
 * A peer with a certificate of the proxies' authority is a proxy, and never a user by its certificate's name unless
 * that authority also signs client certificates. A peer whose intermediate authority is not in either file is no user
 * either: the intermediate belongs into the file with its root.
 */
export function exceptProxies(
  certificates: Authenticator,
  config: Pick<RequestHeaderConfig, 'authorityFingerprints' | 'clientFingerprints'>,
): Authenticator {
  return {
    authenticate(request) {
      const { peerCertificate } = request;
      const authority = peerCertificate?.authorityFingerprint256;
      if (peerCertificate !== undefined && authority === undefined) return undefined;
      const isClient = authority !== undefined && config.clientFingerprints().includes(authority);
      return isOfAuthority(request, config) && !isClient ? undefined : certificates.authenticate(request);
    },
  };
}

function isOfAuthority(
  { peerCertificate }: ApiRequest,
  { authorityFingerprints }: Pick<RequestHeaderConfig, 'authorityFingerprints'>,
): boolean {
  const authority = peerCertificate?.authorityFingerprint256;
  return authority !== undefined && authorityFingerprints().includes(authority);
}

function isProxy(request: ApiRequest, config: RequestHeaderConfig): boolean {
  if (!isOfAuthority(request, config)) return false;
  return config.allowedNames.length === 0 || config.allowedNames.includes(request.peerCertificate!.commonName);
}

function valuesOf(request: ApiRequest, header: string): string[] {
  return namesInHeader(request, header).filter((value) => value !== '');
}

function first({ headers }: ApiRequest, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = headers[name]?.trim() ?? '';
    if (value !== '') return nameInHeader(name, value);
  }
  return undefined;
}

function extraOf(request: ApiRequest, prefixes: readonly string[]): HeaderExtra {
  const extra: HeaderExtra = {};
  for (const header of Object.keys(request.headers)) {
    const prefix = prefixes.find((one) => header.startsWith(one));
    if (prefix === undefined) continue;
    addExtra(extra, header.slice(prefix.length), valuesOf(request, header));
  }
  return extra;
}
