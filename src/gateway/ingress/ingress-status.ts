/**
 * Computes and writes the addresses of our ingresses: those of the nodes whose gateway listens, according to their annotation.
 * All servers of a cluster compute the same from the same objects.
 */
import type { Node } from '../../api/gen/core-v1.ts';
import type { Ingress, IngressLoadBalancerIngress } from '../../api/gen/networking-v1.ts';
import { Ingresses } from '../../api/gen/resources.ts';
import type { Stored } from '../../api/object.ts';
import { isReason } from '../../api/status-error.ts';
import { deepEqual } from '../../base/equal.ts';
import type { Client } from '../../client/client.ts';
import { GATEWAY_PORTS_ANNOTATION } from '../../component-helpers/gateway-class.ts';
import { isNodeReady } from '../../component-helpers/nodes.ts';

/** The sorted addresses of nodes that serve; of nodes that are not ready only when no other serves. */
export function gatewayAddresses(nodes: readonly Node[]): IngressLoadBalancerIngress[] {
  const serving = nodes.filter(({ metadata }) => (metadata.annotations?.[GATEWAY_PORTS_ANNOTATION] ?? '') !== '');
  const ready = serving.filter(isNodeReady);
  const addresses = (ready.length > 0 ? ready : serving).flatMap(({ status }) => {
    const all = status?.addresses ?? [];
    const external = all.filter(({ type }) => type === 'ExternalIP');
    return (external.length > 0 ? external : all.filter(({ type }) => type === 'InternalIP')).map(
      ({ address }) => address,
    );
  });
  return [...new Set(addresses)].sort().map((ip) => ({ ip }));
}

/** The ports that are open on some node. */
export function gatewayPorts(nodes: readonly Node[]): ReadonlySet<number> {
  const texts = nodes.map(({ metadata }) => metadata.annotations?.[GATEWAY_PORTS_ANNOTATION] ?? '');
  return new Set(texts.flatMap((text) => (text === '' ? [] : text.split(',').map(Number))));
}

/** `the kubelet` when the port is that of some node's kubelet; all servers of a cluster compute the same. */
export function kubeletOn(port: number, nodes: readonly Node[]): string | undefined {
  const isThere = nodes.some(({ status }) => status?.daemonEndpoints?.kubeletEndpoint?.Port === port);
  return isThere ? 'the kubelet' : undefined;
}

/** Writes the status when it differs. */
export async function publishAddresses(
  client: Client,
  ingress: Stored<Ingress>,
  addresses: readonly IngressLoadBalancerIngress[],
  signal: AbortSignal,
): Promise<void> {
  const before = ingress.status?.loadBalancer?.ingress ?? [];
  if (deepEqual(before, addresses)) return;
  const { namespace = '', name, resourceVersion } = ingress.metadata;
  const patch = {
    metadata: { resourceVersion },
    status: { loadBalancer: { ingress: addresses.length === 0 ? null : addresses } },
  };
  try {
    await client
      .resource(Ingresses)
      .patch({ namespace, name }, { type: 'merge', patch }, { subresource: 'status', signal });
  } catch (error) {
    if (!isReason(error, 'NotFound')) throw error;
  }
}
