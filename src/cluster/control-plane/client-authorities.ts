/** The authorities of client certificates that the API server accepts, from its certificates and options. */
import type { ClientAuthorities } from '../../apiserver/bootstrap/cluster-authentication-trust.ts';
import type { ApiServerSetup } from './api-server-setup.ts';

interface AuthoritySources {
  readonly pki: {
    readonly ca: { readonly certPem: string };
    /** The front proxy's certificate for aggregated API servers. */
    readonly frontProxy?: { readonly caPem: string };
  };
  readonly setup?: ApiServerSetup;
}

/** Authorities that replace those of the start. */
export interface RenewedAuthorities {
  readonly clientCaPem?: string;
  /** The authorities of `--requestheader-client-ca-file`. */
  readonly proxyCaPem?: string;
}

/** This server is itself a front proxy for aggregated API servers. */
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
    // An empty list allows any name.
    allowedNames: requestHeader?.allowedNames.length === 0 ? [] : [...own, ...(requestHeader?.allowedNames ?? [])],
  };
  const { usernameHeaders, uidHeaders, groupHeaders, extraPrefixes, allowedNames } = proxies;
  return { clientCaPem, proxies: { caPem, usernameHeaders, uidHeaders, groupHeaders, extraPrefixes, allowedNames } };
}
