/** networking.k8s.io, discovery.k8s.io. Upstream: registry/networking, registry/discovery. */
import {
  setEndpointSliceDefaults,
  setIngressClassDefaults,
  setNetworkPolicyDefaults,
} from '../../../api/defaults/networking.ts';
import type { Endpoint, EndpointSlice } from '../../../api/gen/discovery-v1.ts';
import {
  EndpointSlices,
  IngressClasses,
  Ingresses,
  IPAddresses,
  IPAddressesV1beta1,
  NetworkPolicies,
  ServiceCIDRs,
  ServiceCIDRsV1beta1,
} from '../../../api/gen/resources.ts';
import { validateEndpointSlice, validateEndpointSliceUpdate } from '../../../api/validation/endpoint-slice.ts';
import {
  endpointSliceWarnings,
  ingressWarnings,
  loadBalancerWarnings,
  networkPolicyWarnings,
} from '../../../api/warnings/network.ts';
import {
  validateIngress,
  validateIngressClass,
  validateIngressClassUpdate,
  validateIngressStatusUpdate,
  validateNewIngress,
} from '../../../api/validation/ingress.ts';
import {
  nameOfAddress,
  validateIPAddress,
  validateIPAddressUpdate,
  validateNetworkPolicy,
  validateServiceCIDR,
  validateServiceCIDRUpdate,
} from '../../../api/validation/networking.ts';
import { isDns1123Subdomain } from '../../../api/names.ts';
import { deepEqual } from '../../../base/equal.ts';
import { defineResource } from '../define-resource.ts';
import { specOf, type KindRules, type StatusRules } from '../kind-strategy.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import type { IPAddress, ServiceCIDR } from '../../../api/gen/networking-v1.ts';
import {
  endpointSlicePrinter,
  ingressClassPrinter,
  ingressPrinter,
  ipAddressPrinter,
  networkPolicyPrinter,
  serviceCIDRPrinter,
} from './tables.ts';

const addressRules: KindRules<IPAddress> = {
  validateName: nameOfAddress,
  validate: validateIPAddress,
  validateUpdate: validateIPAddressUpdate,
};
const rangeRules: KindRules<ServiceCIDR> = {
  emptyStatus: {},
  validate: validateServiceCIDR,
  validateUpdate: validateServiceCIDRUpdate,
};
const RANGE_STATUS_RULES: StatusRules<ServiceCIDR> = { keepsMetadata: true };

/**
 * Removes `deprecatedTopology` from changed endpoints: v1 keeps it in old slices but accepts none. Its node name
 * moves to the field if the slice had it before. Upstream: dropTopologyOnV1.
 */
function dropTopology(draft: EndpointSlice, old: EndpointSlice | undefined): void {
  const { endpoints = [] } = draft;
  if (!endpoints.some(({ deprecatedTopology }) => deprecatedTopology !== undefined)) return;
  if (old !== undefined && deepEqual(endpoints, old.endpoints)) return;
  const nodeOf = (endpoint: Endpoint): string => endpoint.deprecatedTopology?.['kubernetes.io/hostname'] ?? '';
  const before = new Set((old?.endpoints ?? []).map(nodeOf));
  draft.endpoints = endpoints.map((endpoint) => {
    const { deprecatedTopology: _, ...rest } = endpoint;
    const node = nodeOf(endpoint);
    const moves = rest.nodeName === undefined && before.has(node) && isDns1123Subdomain(node).length === 0;
    return moves ? { ...rest, nodeName: node } : rest;
  });
}

/** Definitions of networking and discovery. */
export const networkingDefinitions: readonly ResourceDefinition[] = [
  defineResource(Ingresses, {
    rules: {
      emptyStatus: { loadBalancer: {} },
      generationOf: specOf,
      validate: validateNewIngress,
      validateUpdate: (ingress, _, field) => validateIngress(ingress, field),
      warnings: ingressWarnings,
    },
    statusRules: { validateUpdate: validateIngressStatusUpdate, warnings: loadBalancerWarnings },
    prefix: 'ingress',
    printer: ingressPrinter,
  }),
  defineResource(IngressClasses, {
    rules: {
      generationOf: specOf,
      defaults: setIngressClassDefaults,
      validate: validateIngressClass,
      validateUpdate: validateIngressClassUpdate,
    },
    printer: ingressClassPrinter,
  }),
  defineResource(NetworkPolicies, {
    rules: {
      generationOf: specOf,
      defaults: setNetworkPolicyDefaults,
      validate: validateNetworkPolicy,
      warnings: networkPolicyWarnings,
    },
    printer: networkPolicyPrinter,
  }),
  defineResource(IPAddresses, { rules: addressRules, printer: ipAddressPrinter }),
  defineResource(ServiceCIDRs, { rules: rangeRules, statusRules: RANGE_STATUS_RULES, printer: serviceCIDRPrinter }),
  defineResource(IPAddressesV1beta1, { rules: addressRules, printer: ipAddressPrinter }),
  defineResource(ServiceCIDRsV1beta1, {
    rules: rangeRules,
    statusRules: RANGE_STATUS_RULES,
    printer: serviceCIDRPrinter,
  }),
  defineResource(EndpointSlices, {
    rules: {
      generationOf: ({ addressType, endpoints, ports, metadata }) => [addressType, endpoints, ports, metadata.labels],
      defaults: setEndpointSliceDefaults,
      prepareForCreate: (draft) => dropTopology(draft, undefined),
      prepareForUpdate: dropTopology,
      validate: validateEndpointSlice,
      validateUpdate: validateEndpointSliceUpdate,
      warnings: endpointSliceWarnings,
    },
    printer: endpointSlicePrinter,
  }),
];
