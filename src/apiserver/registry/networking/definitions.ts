/** networking.k8s.io, discovery.k8s.io. Upstream: registry/networking, registry/discovery. */
import {
  setEndpointSliceDefaults,
  setIngressClassDefaults,
  setNetworkPolicyDefaults,
} from '../../../api/defaults/networking.ts';
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
import { defineResource } from '../define-resource.ts';
import { specOf, type KindRules } from '../kind-strategy.ts';
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

/** Definitions of networking and discovery. */
export const networkingDefinitions: readonly ResourceDefinition[] = [
  defineResource(Ingresses, {
    rules: {
      emptyStatus: { loadBalancer: {} },
      generationOf: specOf,
      validate: validateNewIngress,
      validateUpdate: (ingress, _, field) => validateIngress(ingress, field),
    },
    statusRules: { validateUpdate: validateIngressStatusUpdate },
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
    rules: { generationOf: specOf, defaults: setNetworkPolicyDefaults, validate: validateNetworkPolicy },
    printer: networkPolicyPrinter,
  }),
  defineResource(IPAddresses, { rules: addressRules, printer: ipAddressPrinter }),
  defineResource(ServiceCIDRs, { rules: rangeRules, printer: serviceCIDRPrinter }),
  defineResource(IPAddressesV1beta1, { rules: addressRules, printer: ipAddressPrinter }),
  defineResource(ServiceCIDRsV1beta1, { rules: rangeRules, printer: serviceCIDRPrinter }),
  defineResource(EndpointSlices, {
    rules: {
      generationOf: ({ addressType, endpoints, ports, metadata }) => [addressType, endpoints, ports, metadata.labels],
      defaults: setEndpointSliceDefaults,
      validate: validateEndpointSlice,
      validateUpdate: validateEndpointSliceUpdate,
    },
    printer: endpointSlicePrinter,
  }),
];
