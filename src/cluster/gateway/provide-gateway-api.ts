/**
 * Gives a cluster that serves routes the kinds of the Gateway API: the file of manifests of the addon `gateway-api`.
 * Upstream: k3s, whose chart of Traefik brings them.
 *
 * Invariant: kinds that somebody else has defined, in the cluster or in a file of manifests, are left alone.
 */
import { CustomResourceDefinitions } from '../../api/gen/resources.ts';
import type { ObjectStore } from '../../apiserver/registry/object-store.ts';
import type { Platform } from '../../platform/platform.ts';
import { addonFiles } from '../addons/addon-files.ts';
import { packagedFile, writePackaged } from '../addons/packaged-addons.ts';

const GATEWAYS = 'gateways.gateway.networking.k8s.io';

/** Writes the file unless it is there, is disabled, or the kinds are defined. Resolves to whether it has. */
export async function provideGatewayApi(
  { files }: Pick<Platform, 'files'>,
  objects: Pick<ObjectStore, 'get'>,
  folder: string,
): Promise<boolean> {
  if (objects.get(CustomResourceDefinitions, '', GATEWAYS) !== undefined) return false;
  const file = packagedFile(folder, 'gateway-api');
  if ((await files.exists(file)) || (await files.exists(`${file}.skip`))) return false;
  const { found } = await addonFiles(files, folder);
  for (const { path } of found) if ((await files.readText(path).catch(() => '')).includes(GATEWAYS)) return false;
  await writePackaged(files, folder, 'gateway-api');
  return true;
}
