/**
 * `kube-system/extension-apiserver-authentication`: what aggregated API servers read to know whom this server vouches for.
 * Upstream: the clusterauthenticationtrust controller.
 */
import { ConfigMaps } from '../../api/gen/resources.ts';
import type { ConfigMap } from '../../api/gen/core-v1.ts';
import { deepEqual } from '../../base/equal.ts';
import type { ObjectStore } from '../registry/object-store.ts';

const NAMESPACE = 'kube-system';
const NAME = 'extension-apiserver-authentication';

/** Writes the map, and puts right what an earlier start wrote. */
export async function publishClientAuthorities(
  objects: ObjectStore,
  { clientCaPem, frontProxyCaPem }: { readonly clientCaPem: string; readonly frontProxyCaPem: string },
): Promise<void> {
  const data: Record<string, string> = {
    'client-ca-file': clientCaPem,
    'requestheader-allowed-names': '["front-proxy-client"]',
    'requestheader-client-ca-file': frontProxyCaPem,
    'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
    'requestheader-group-headers': '["X-Remote-Group"]',
    'requestheader-uid-headers': '["X-Remote-Uid"]',
    'requestheader-username-headers': '["X-Remote-User"]',
  };
  const metadata = { namespace: NAMESPACE, name: NAME };
  const wanted: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
  const current = await objects.ensure(ConfigMaps, wanted);
  if (deepEqual(current.data, data)) return;
  await objects.guaranteedUpdate(ConfigMaps, NAMESPACE, NAME, (now) => ({ ...now, data }));
}
