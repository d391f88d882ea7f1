/**
 * `kube-system/extension-apiserver-authentication`: what aggregated API servers read to know whom this server vouches for.
 * Upstream: the clusterauthenticationtrust controller.
 */
import { ConfigMaps } from '../../api/gen/resources.ts';
import type { ConfigMap } from '../../api/gen/core-v1.ts';
import { deepEqual } from '../../base/equal.ts';
import type { RequestHeaderOptions } from '../options/authentication-options.ts';
import type { ObjectStore } from '../registry/object-store.ts';

const NAMESPACE = 'kube-system';
const NAME = 'extension-apiserver-authentication';

/** Who vouches for users. */
export interface ClientAuthorities {
  /** '': no client certificates. */
  readonly clientCaPem: string;
  /** Front proxies: this server among them, if it has a certificate for that. */
  readonly proxies?: Omit<RequestHeaderOptions, 'clientCaFile'> & { readonly caPem: string };
}

/** Writes the map, and puts right what an earlier start wrote. */
export async function publishClientAuthorities(
  objects: ObjectStore,
  { clientCaPem, proxies }: ClientAuthorities,
): Promise<void> {
  const data: Record<string, string> = {
    ...(clientCaPem !== '' && { 'client-ca-file': clientCaPem }),
    ...(proxies && {
      'requestheader-allowed-names': JSON.stringify(proxies.allowedNames),
      'requestheader-client-ca-file': proxies.caPem,
      'requestheader-extra-headers-prefix': JSON.stringify(proxies.extraPrefixes),
      'requestheader-group-headers': JSON.stringify(proxies.groupHeaders),
      'requestheader-uid-headers': JSON.stringify(proxies.uidHeaders),
      'requestheader-username-headers': JSON.stringify(proxies.usernameHeaders),
    }),
  };
  const metadata = { namespace: NAMESPACE, name: NAME };
  const wanted: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
  const current = await objects.ensure(ConfigMaps, wanted);
  if (deepEqual(current.data, data)) return;
  await objects.guaranteedUpdate(ConfigMaps, NAMESPACE, NAME, (now) => ({ ...now, data }));
}
