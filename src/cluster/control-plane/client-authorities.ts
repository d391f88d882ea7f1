/** Whom the API server vouches for, of its certificates and options. */
import type { ClientAuthorities } from '../../apiserver/bootstrap/cluster-authentication-trust.ts';
import type { ApiServerSetup } from './api-server-setup.ts';

interface AuthoritySources {
  readonly pki: {
    readonly ca: { readonly certPem: string };
    /** How aggregated API servers know us. */
    readonly frontProxy?: { readonly caPem: string };
  };
  readonly setup?: ApiServerSetup;
}

/** Authorities in the place of those of the start. */
export interface RenewedAuthorities {
  readonly clientCaPem?: string;
  /** Those of `--requestheader-client-ca-file`. */
  readonly proxyCaPem?: string;
}

/** We are a front proxy ourselves, to aggregated API servers. */
export function clientAuthoritiesOf(
  { pki, setup }: AuthoritySources,
  { clientCaPem = pki.ca.certPem, proxyCaPem }: RenewedAuthorities = {},
): ClientAuthorities {
  const { requestHeader, extraClientCaPem = '' } = setup ?? {};
  const ownCaPem = pki.frontProxy?.caPem ?? '';
  const caPem = `${ownCaPem}${proxyCaPem ?? extraClientCaPem}`;
  if (caPem === '') return { clientCaPem };
  const own = ownCaPem === '' ? [] : ['front-proxy-client'];
  const proxies = {
    usernameHeaders: ['X-Remote-User'],
    uidHeaders: ['X-Remote-Uid'],
    groupHeaders: ['X-Remote-Group'],
    extraPrefixes: ['X-Remote-Extra-'],
    ...requestHeader,
    ...(requestHeader?.uidHeaders.length === 0 && { uidHeaders: ['X-Remote-Uid'] }),
    // An empty list is any name.
    allowedNames: requestHeader?.allowedNames.length === 0 ? [] : [...own, ...(requestHeader?.allowedNames ?? [])],
  };
  const { usernameHeaders, uidHeaders, groupHeaders, extraPrefixes, allowedNames } = proxies;
  return { clientCaPem, proxies: { caPem, usernameHeaders, uidHeaders, groupHeaders, extraPrefixes, allowedNames } };
}
