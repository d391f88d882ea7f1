/**
 * Routes of a server with a node: nothing but a look at changed ingresses until the first one is ours, or the Gateway API is
 * defined; then the controller's code is loaded. The data plane runs while there is anything to serve.
 */
import { IngressClasses, Ingresses } from '../../api/gen/resources.ts';
import type { ObjectStore } from '../../apiserver/registry/object-store.ts';
import { abortable } from '../../base/abort.ts';
import { createDeferred } from '../../base/deferred.ts';
import { isServedIngress } from '../../gateway/ingress/ingress-class.ts';
import type { Log } from '../../platform/log.ts';
import { background } from '../../platform/unexpected.ts';
import type { ComponentStatus } from '../cluster-status.ts';
import { gatewayApiDefined } from './gateway-definitions.ts';
import type { GatewayConfig, GatewayDeps } from './gateway-contract.ts';
import { gatewayRecord } from './gateway-record.ts';
import { recordedPorts } from './recorded-ports.ts';

/** The routes of this node. */
export interface Gateway {
  /** Works until the signal aborts; the data plane stays. */
  run(signal: AbortSignal): Promise<void>;
  /** Nothing while no route is ours. */
  status(): readonly ComponentStatus[];
}

export function createGateway(deps: GatewayDeps, config: GatewayConfig): Gateway {
  let serving: { status(): readonly ComponentStatus[] } | undefined;
  return {
    async run(signal) {
      // A data plane of an earlier run is to be kept or ended, and what the Node says of its ports with it.
      const { objects } = deps.controlPlane.server;
      const hasRecord = await deps.platform.files.exists(gatewayRecord(config.instance));
      if (!hasRecord && recordedPorts(objects, config.instance.nodeName) === '')
        await firstIngress(objects, deps.platform.log, signal);
      const { serveRoutes } = await import('./serve-routes.ts');
      const made = await serveRoutes(deps, config, signal);
      serving = made;
      await made.ended;
    },
    status: () => serving?.status() ?? [],
  };
}

/** Resolves with the first ingress of ours, or with the kinds of the Gateway API. */
async function firstIngress(objects: ObjectStore, log: Log, signal: AbortSignal): Promise<void> {
  const found = createDeferred<void>();
  const classNamed = (name: string) => objects.get(IngressClasses, '', name);
  const check = (): void => {
    if (objects.list(Ingresses).some((ingress) => isServedIngress(ingress, classNamed))) found.resolve();
  };
  const stops = [objects.onChange(Ingresses, check), objects.onChange(IngressClasses, check)];
  background(
    log,
    'the Gateway API was not looked for',
    gatewayApiDefined(objects, signal).then(() => found.resolve()),
  );
  try {
    await abortable(found.promise, signal);
  } finally {
    for (const stop of stops) stop();
  }
}
