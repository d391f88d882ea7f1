/**
 * Removes what earlier starts have published about routes when a server starts without them: addresses of Ingresses and Gateways
 * would lead clients to closed ports.
 */
import { IngressClasses, Ingresses, Nodes } from '../../api/gen/resources.ts';
import type { Stored } from '../../api/object.ts';
import type { Node } from '../../api/gen/core-v1.ts';
import { isReason } from '../../api/status-error.ts';
import { createBackoff } from '../../base/backoff.ts';
import { GATEWAY_PORTS_ANNOTATION } from '../../component-helpers/gateway-class.ts';
import { isServedIngress } from '../../gateway/ingress/ingress-class.ts';
import { publishAddresses } from '../../gateway/ingress/ingress-status.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import { GATEWAY_PRINCIPAL, type GatewayDeps } from './gateway-contract.ts';
import { servedGatewayApi } from './gateway-definitions.ts';

const RETRY = { initialMs: 1000, maxMs: 120_000 } as const;

/** Resolves once all is removed, or the signal aborts. Failed writes are repeated. */
export async function withdrawRoutes(deps: GatewayDeps, signal: AbortSignal): Promise<void> {
  const { clock, log } = deps.platform;
  const backoff = createBackoff(RETRY);
  while (!signal.aborted)
    try {
      await withdrawOnce(deps, signal);
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (!isReason(error, 'Conflict'))
        log.warn('failed to remove the addresses of routes that are no longer served; will retry', { err: error });
      await sleepUnlessAborted(clock, backoff.nextMs(), signal);
    }
}

/** Tries all removals, then rejects with the first failure. */
async function withdrawOnce({ platform, controlPlane }: GatewayDeps, signal: AbortSignal): Promise<void> {
  const { objects } = controlPlane.server;
  const client = controlPlane.clientFor(GATEWAY_PRINCIPAL, 'keelson-gateway');
  const failures: unknown[] = [];
  const attempt = async (work: Promise<unknown>): Promise<void> => {
    await work.catch((error: unknown) => failures.push(error));
    signal.throwIfAborted();
  };
  for (const { metadata } of objects.list(Nodes))
    if (metadata.annotations?.[GATEWAY_PORTS_ANNOTATION] !== undefined)
      await attempt(objects.guaranteedUpdate(Nodes, '', metadata.name, withoutPorts));
  const classNamed = (name: string) => objects.get(IngressClasses, '', name);
  for (const ingress of objects.list(Ingresses))
    if (isServedIngress(ingress, classNamed)) await attempt(publishAddresses(client, ingress, [], signal));
  if (servedGatewayApi(objects) !== undefined) {
    const { withdrawGatewayStatus } = await import('../../gateway/gateway-api/withdraw-status.ts');
    await attempt(withdrawGatewayStatus({ client, nowMs: platform.clock.nowMs(), signal }));
  }
  if (failures.length > 0) throw failures[0];
}

function withoutPorts(node: Stored<Node>): Stored<Node> {
  const { [GATEWAY_PORTS_ANNOTATION]: _former, ...annotations } = node.metadata.annotations ?? {};
  return { ...node, metadata: { ...node.metadata, annotations } };
}
