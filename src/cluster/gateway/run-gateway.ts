/**
 * Routes of a server, for its own node and for joined nodes. Until the first ingress of our class exists, or the Gateway API is
 * defined, only ingresses are watched; then the controller's code is loaded. The data plane runs while there is anything to
 * serve.
 */
import { IngressClasses, Ingresses, Nodes } from '../../api/gen/resources.ts';
import type { ObjectStore } from '../../apiserver/registry/object-store.ts';
import { abortable } from '../../base/abort.ts';
import { createDeferred } from '../../base/deferred.ts';
import { isServedIngress } from '../../gateway/ingress/ingress-class.ts';
import { gatewayPorts } from '../../gateway/ingress/ingress-status.ts';
import type { Log } from '../../platform/log.ts';
import { background } from '../../platform/unexpected.ts';
import type { ComponentStatus } from '../cluster-status.ts';
import { gatewayApiDefined, servedGatewayApi } from './gateway-definitions.ts';
import type { GatewayConfig, GatewayDeps } from './gateway-contract.ts';
import { gatewayRecord } from './gateway-record.ts';
import { NO_ROUTES } from './nodes/protocol.ts';

/** The routes that a process serves or has served. */
export interface Gateway {
  /** Runs until the signal aborts; the data plane continues. */
  run(signal: AbortSignal): Promise<void>;
  /** Empty while no route is ours. */
  status(): readonly ComponentStatus[];
}

export function createGateway(deps: GatewayDeps, config: GatewayConfig): Gateway {
  let serving: { status(): readonly ComponentStatus[] } | undefined;
  return {
    async run(signal) {
      // A data plane of an earlier run must be kept or ended, and its Node's record of ports with it.
      const { objects } = deps.controlPlane.server;
      const hasRecord = await deps.platform.files.exists(gatewayRecord(config.instance));
      if (!hasRecord && gatewayPorts(objects.list(Nodes)).size === 0)
        await firstRoute(objects, deps.platform.log, { onNone: () => config.feed.publish(NO_ROUTES) }, signal);
      const { serveRoutes } = await import('./serve-routes.ts');
      const made = await serveRoutes(deps, config, signal);
      serving = made;
      await made.ended;
    },
    status: () => serving?.status() ?? [],
  };
}

/**
 * Resolves with the first ingress of our class, or with the kinds of the Gateway API. `onNone` is called when neither exists yet.
 */
async function firstRoute(
  objects: ObjectStore,
  log: Log,
  { onNone }: { readonly onNone: () => void },
  signal: AbortSignal,
): Promise<void> {
  const firstFound = createDeferred<void>();
  const classNamed = (name: string) => objects.get(IngressClasses, '', name);
  const hasIngress = (): boolean => objects.list(Ingresses).some((ingress) => isServedIngress(ingress, classNamed));
  const check = (): void => {
    if (hasIngress()) firstFound.resolve();
  };
  if (!hasIngress() && servedGatewayApi(objects) === undefined) onNone();
  const stops = [objects.onChange(Ingresses, check), objects.onChange(IngressClasses, check)];
  background(
    log,
    'the Gateway API was not looked for',
    gatewayApiDefined(objects, signal).then(() => firstFound.resolve()),
  );
  try {
    await abortable(firstFound.promise, signal);
  } finally {
    for (const stop of stops) stop();
  }
}
