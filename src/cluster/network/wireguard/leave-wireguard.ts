/** Ends what an earlier start with WireGuard left: the device, the program behind it, the key in the Node object. */
import type { Node } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import type { Instance } from '../../instance/instance.ts';
import type { RouteBackendDeps } from '../route-backend.ts';
import { removeWireguardDevice } from './device.ts';
import { publishKey } from './publish-key.ts';

export async function leaveWireguard(
  deps: Pick<RouteBackendDeps, 'client' | 'platform'>,
  instance: Instance,
  own: Stored<Node> | undefined,
): Promise<void> {
  await removeWireguardDevice(deps.platform, instance);
  await publishKey(deps, own, undefined);
}
