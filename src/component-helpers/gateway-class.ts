/** What the API server's bootstrap and the gateway agree on: the class whose ingresses Keelson serves itself. */
import type { IngressClass } from '../api/gen/networking-v1.ts';

/** In `spec.controller` of an IngressClass and `spec.controllerName` of a GatewayClass. */
export const GATEWAY_CONTROLLER = 'keelson.dev/gateway';
/** On a Node: the TCP ports on which its gateway listens, separated by commas. */
export const GATEWAY_PORTS_ANNOTATION = 'keelson.dev/gateway-ports';

/** The class of ingresses that name none, in a new cluster. */
export function gatewayIngressClass(): IngressClass {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IngressClass',
    metadata: { name: 'keelson', annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } },
    spec: { controller: GATEWAY_CONTROLLER },
  };
}
