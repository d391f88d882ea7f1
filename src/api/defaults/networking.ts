/** Defaults of networking and discovery. Upstream: apis/networking/v1, apis/discovery/v1 defaults.go. */
import type { EndpointSlice } from '../gen/discovery-v1.ts';
import type { IngressClass, NetworkPolicy } from '../gen/networking-v1.ts';

/** Sets the defaults of a network policy: it applies to egress only when it has egress rules. */
export function setNetworkPolicyDefaults(policy: NetworkPolicy): void {
  const spec = (policy.spec ??= {});
  spec.podSelector ??= {};
  for (const rule of [...(spec.ingress ?? []), ...(spec.egress ?? [])]) {
    for (const port of rule.ports ?? []) port.protocol ??= 'TCP';
  }
  if ((spec.policyTypes ?? []).length > 0) return;
  spec.policyTypes = (spec.egress ?? []).length > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
}

export function setIngressClassDefaults(ingressClass: IngressClass): void {
  const parameters = ingressClass.spec?.parameters;
  if (parameters !== undefined) parameters.scope ??= 'Cluster';
}

export function setEndpointSliceDefaults(slice: EndpointSlice): void {
  for (const port of slice.ports ?? []) {
    port.name ??= '';
    port.protocol ??= 'TCP';
  }
}
