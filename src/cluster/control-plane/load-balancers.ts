/** Gives services of type LoadBalancer the nodes' addresses. One controller per cluster, in the control plane. */
import { accountPrincipal } from '../../apiserver/authn/bound-token-claims.ts';
import { createEventBroadcaster } from '../../client/event-broadcaster.ts';
import { createInformerFactory } from '../../client/informer-factory.ts';
import type { Platform } from '../../platform/platform.ts';
import { createLoadBalancerController } from '../../proxy/load-balancer.ts';
import type { PortUser } from '../../proxy/load-balancer-addresses.ts';
import type { ControlPlane } from './control-plane.ts';

/** Runs the load balancer controller until the signal aborts. `portUser`: what currently uses a port of the nodes. */
export function runLoadBalancers(
  { platform, controlPlane }: { readonly platform: Platform; readonly controlPlane: ControlPlane },
  portUser: () => PortUser,
  signal: AbortSignal,
): Promise<void> {
  const client = controlPlane.clientFor(accountPrincipal('kube-system', 'service-controller'), 'service-controller');
  const sources = { client, clock: platform.clock, random: platform.random, log: platform.log };
  const informers = createInformerFactory(sources);
  const events = createEventBroadcaster(sources);
  events.start(signal);
  const recorder = events.recorderFor('service-controller');
  const controller = createLoadBalancerController({ client, informers, platform, recorder, portUser });
  informers.start(signal);
  return controller.start(signal);
}
