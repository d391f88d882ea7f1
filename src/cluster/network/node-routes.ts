/**
 * Keeps the kernel's routes to other nodes' pods: follows Node objects with the instance's backend, and repairs
 * foreign changes every half minute.
 */
import { onAbort } from '../../base/abort.ts';
import { Nodes } from '../../api/gen/resources.ts';
import type { InformerFactory } from '../../client/informer.ts';
import { logFailedRound } from '../../platform/unexpected.ts';
import type { NodeRoutesConfig, RouteBackend, RouteBackendDeps } from './route-backend.ts';
import { createVxlanBackend } from './vxlan-backend.ts';
import { wireguardPublicKey } from '../../component-helpers/wireguard-annotations.ts';
import { hasDevice } from './kernel-routes.ts';

const CHECK_PERIOD_MS = 30_000;
const ALIVE_PERIOD_MS = 1_000;
const RETRY_MS = 1_000;

/** Runs until the signal aborts and leaves the routes in place. Never rejects. The caller starts the informers. */
export async function runNodeRoutes(
  deps: RouteBackendDeps & { readonly informers: InformerFactory },
  config: NodeRoutesConfig,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = deps.platform;
  const nodes = deps.informers.informer(Nodes);
  let wake = Promise.withResolvers<void>();
  const kick = (): void => wake.resolve();
  nodes.addHandler({ onAdd: kick, onUpdate: kick, onDelete: kick });
  onAbort(signal, kick);
  let due = true;
  const check = (): void => {
    due = true;
    kick();
  };
  const stops = [clock.setTicker(CHECK_PERIOD_MS, check)];
  try {
    const backend = await createBackend(deps, config);
    const { isAlive } = backend;
    const checkIfDead = (): void => {
      if (isAlive?.() === false) check();
    };
    if (isAlive !== undefined) stops.push(clock.setTicker(ALIVE_PERIOD_MS, checkIfDead));
    await nodes.waitForSync(signal);
    while (!signal.aborted) {
      wake = Promise.withResolvers();
      const checking = due;
      due = false;
      try {
        await backend.follow(nodes.list(), checking);
      } catch (error) {
        if (signal.aborted) return;
        due = true;
        logFailedRound(log, 'cannot route to other nodes, again later', { err: error });
        await clock.sleep(RETRY_MS, signal);
        continue;
      }
      await wake.promise;
    }
  } catch (error) {
    if (!signal.aborted) log.unexpected('routes to other nodes are followed no more', error);
  } finally {
    for (const stop of stops) stop();
  }
}

/** Loads the code of WireGuard only where it is used, or was used by an earlier start. */
async function createBackend(deps: RouteBackendDeps, config: NodeRoutesConfig): Promise<RouteBackend> {
  const { instance } = config;
  if (instance.flannelBackend === 'wireguard-native') {
    const { createWireguardBackend } = await import('./wireguard/wireguard-backend.ts');
    return createWireguardBackend(deps, config);
  }
  const vxlan = createVxlanBackend(deps, config);
  return {
    async follow(nodes, checking) {
      if (checking) {
        const own = nodes.find(({ metadata }) => metadata.name === instance.nodeName);
        const wasUsed =
          wireguardPublicKey(own) !== undefined || (await hasDevice(deps.platform, instance.wireguardDevice));
        if (wasUsed) await (await import('./wireguard/leave-wireguard.ts')).leaveWireguard(deps, instance, own);
      }
      await vxlan.follow(nodes, checking);
    },
  };
}
