/** The flags of authentication. Upstream: BuiltInAuthenticationOptions. */
import type { Flag } from './flags.ts';

export const AUTHENTICATION_FLAGS: readonly Flag[] = [
  {
    name: 'authentication-config',
    value: '<file>',
    description: 'AuthenticationConfiguration: token issuers and anonymous paths; instead of the oidc flags',
  },
  {
    name: 'anonymous-auth',
    value: '<bool>',
    description: 'serve requests without credentials as system:anonymous (default true)',
  },
  { name: 'token-auth-file', value: '<file>', description: 'CSV of static tokens: token,user,uid,"group1,group2"' },
  {
    name: 'authentication-token-webhook-config-file',
    value: '<file>',
    description: 'kubeconfig of a TokenReview webhook',
  },
  {
    name: 'authentication-token-webhook-cache-ttl',
    value: '<duration>',
    description: 'how long the answers of the webhook are cached (default 2m)',
  },
  {
    name: 'authentication-token-webhook-version',
    value: '<version>',
    description: 'version of TokenReview that is sent to the webhook: v1beta1 (default) or v1',
  },
  { name: 'oidc-issuer-url', value: '<url>', description: 'issuer of OpenID Connect tokens; https only' },
  { name: 'oidc-client-id', value: '<id>', description: 'audience OpenID Connect tokens must be for' },
  { name: 'oidc-username-claim', value: '<claim>', description: 'claim with the user name (default sub)' },
  {
    name: 'oidc-username-prefix',
    value: '<prefix>',
    description: 'put before user names; - for none (default: the issuer and #, unless the claim is email)',
  },
  { name: 'oidc-groups-claim', value: '<claim>', description: 'claim with the groups' },
  { name: 'oidc-groups-prefix', value: '<prefix>', description: 'put before groups' },
  { name: 'oidc-required-claim', value: '<key=value>', description: 'claims a token must have', list: true },
  {
    name: 'oidc-signing-algs',
    value: '<names>',
    description: 'signature algorithms taken (default RS256)',
    list: true,
  },
  {
    name: 'oidc-ca-file',
    value: '<file>',
    description: "authority of the issuer's certificate (default: the system's)",
  },
  {
    name: 'console-oidc-client-id',
    value: '<id>',
    description:
      "client as which the console's users sign in at the OpenID Connect issuer that has it as audience (default: no such sign-in)",
  },
  {
    name: 'console-oidc-client-secret-file',
    value: '<file>',
    description: 'secret of that client (default: a public client)',
  },
  {
    name: 'console-oidc-redirect-origin',
    value: '<origin>',
    description:
      'origin of the console to which that issuer sends browsers back, e.g. https://console.example.com (default: the names and addresses in the serving certificate)',
    list: true,
  },
  {
    name: 'requestheader-client-ca-file',
    value: '<file>',
    description: 'authority of front proxies that name the user in request headers',
  },
  {
    name: 'requestheader-allowed-names',
    value: '<names>',
    description: 'common names of front proxies (default: any of that authority)',
    list: true,
  },
  {
    name: 'requestheader-username-headers',
    value: '<names>',
    description: 'headers with the user name (default X-Remote-User)',
    list: true,
  },
  { name: 'requestheader-uid-headers', value: '<names>', description: 'headers with the uid', list: true },
  {
    name: 'requestheader-group-headers',
    value: '<names>',
    description: 'headers with groups (default X-Remote-Group)',
    list: true,
  },
  {
    name: 'requestheader-extra-headers-prefix',
    value: '<prefixes>',
    description: 'beginnings of headers with extra values (default X-Remote-Extra-)',
    list: true,
  },
];
