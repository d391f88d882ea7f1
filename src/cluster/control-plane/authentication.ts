/** The API server's authenticators and authorizers in order: built-in ones and those from options. */
import { createAnonymousAuthenticator } from '../../apiserver/authn/anonymous.ts';
import type { TokenAuthenticator } from '../../apiserver/authn/bearer-token.ts';
import { clientCertificateAuthenticator } from '../../apiserver/authn/client-certificate.ts';
import type { Authenticator } from '../../apiserver/authn/contract.ts';
import { createRequestHeaderAuthenticator, exceptProxies } from '../../apiserver/authn/request-header.ts';
import { alwaysAllowAuthorizer, alwaysDenyAuthorizer } from '../../apiserver/authz/always.ts';
import type { Authorizer } from '../../apiserver/authz/contract.ts';
import { decide } from '../../apiserver/filters/authorization.ts';
import { privilegedGroupAuthorizer } from '../../apiserver/authz/rbac-authorizer.ts';
import type { ApiServerSetup } from './api-server-setup.ts';

/** Kinds of tokens in the order in which they are tried. */
export function tokenKinds(
  own: readonly TokenAuthenticator[],
  setup: ApiServerSetup | undefined,
): TokenAuthenticator[] {
  return [...(setup?.tokens.first ?? []), ...own, ...(setup?.tokens.last ?? [])];
}

/** Authenticators in the order in which they are tried. `bearer`: by tokens; `console`: by console sessions. */
export function authenticatorsOf(
  { bearer, console }: { readonly bearer: Authenticator; readonly console: Authenticator | undefined },
  setup: ApiServerSetup | undefined,
): Authenticator[] {
  const proxies = setup?.requestHeader;
  return [
    ...(proxies === undefined
      ? [clientCertificateAuthenticator]
      : [createRequestHeaderAuthenticator(proxies), exceptProxies(clientCertificateAuthenticator, proxies)]),
    bearer,
    ...(console === undefined ? [] : [console]),
    ...(setup?.anonymous === false ? [] : [createAnonymousAuthenticator(setup?.anonymousPaths)]),
  ];
}

/** Authorizers in order. */
export function authorizersOf(
  { nodes, rbac }: { readonly nodes: Authorizer; readonly rbac: Authorizer },
  setup: ApiServerSetup | undefined,
): Authorizer[] {
  const builtIn = {
    Node: nodes,
    RBAC: rbac,
    AlwaysAllow: alwaysAllowAuthorizer,
    AlwaysDeny: alwaysDenyAuthorizer,
  };
  const authorizersFor = (chosen: ApiServerSetup['authorizers']): Authorizer[] =>
    chosen.map((one) => (typeof one === 'string' ? builtIn[one] : one));
  const start = setup?.authorizers ?? (['Node', 'RBAC'] as const);
  if (setup?.authorizersNow === undefined) return [privilegedGroupAuthorizer, ...authorizersFor(start)];
  return [privilegedGroupAuthorizer, reloadingAuthorizer(start, setup.authorizersNow, authorizersFor)];
}

/** An authorizer that asks those in the current list. */
function reloadingAuthorizer<T extends object>(
  start: T,
  currentList: () => T | Promise<T>,
  authorizersFor: (list: T) => Authorizer[],
): Authorizer {
  let list = start;
  let authorizers = authorizersFor(start);
  const listOf = (now: T): Authorizer[] => {
    if (now !== list) [list, authorizers] = [now, authorizersFor(now)];
    return authorizers;
  };
  return {
    authorize(attributes) {
      const now = currentList();
      return now instanceof Promise
        ? now.then((later) => decide(listOf(later), attributes))
        : decide(listOf(now), attributes);
    },
  };
}
