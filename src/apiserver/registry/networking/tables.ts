/** Columns of networking and discovery resources in `kubectl get`. Upstream: printers/internalversion. */
import type { EndpointSlice } from '../../../api/gen/discovery-v1.ts';
import type { Ingress, IngressClass, IPAddress, NetworkPolicy, ServiceCIDR } from '../../../api/gen/networking-v1.ts';
import { ageCell, ageColumn, column, formatSelectorCell, printerOf } from '../printing.ts';
import type { Printer } from '../resource-definition.ts';

function ingressHosts(ingress: Ingress): string {
  const hosts = (ingress.spec?.rules ?? []).map((rule) => rule.host ?? '').filter((host) => host !== '');
  if (hosts.length === 0) return '*';
  return hosts.length > 3 ? `${hosts.slice(0, 3).join(',')} + ${hosts.length - 3} more...` : hosts.join(',');
}

export const ingressPrinter: Printer<Ingress> = printerOf(
  [column('Class'), column('Hosts'), column('Address'), column('Ports'), ageColumn],
  (ingress, nowMs) => {
    const addresses = (ingress.status?.loadBalancer?.ingress ?? [])
      .map((entry) => entry.ip || entry.hostname || '')
      .filter((text) => text !== '');
    const ports = (ingress.spec?.tls ?? []).length > 0 ? '80, 443' : '80';
    return [
      ingress.spec?.ingressClassName ?? '<none>',
      ingressHosts(ingress),
      [...new Set(addresses)].join(','),
      ports,
      ageCell(ingress, nowMs),
    ];
  },
);

export const ingressClassPrinter: Printer<IngressClass> = printerOf(
  [column('Controller'), column('Parameters'), ageColumn],
  (ingressClass, nowMs) => {
    const parameters = ingressClass.spec?.parameters;
    const group = (parameters?.apiGroup ?? '') === '' ? '' : `.${parameters!.apiGroup}`;
    const text = parameters === undefined ? '<none>' : `${parameters.kind}${group}/${parameters.name}`;
    return [ingressClass.spec?.controller ?? '', text, ageCell(ingressClass, nowMs)];
  },
);

/** Printer of network policies. */
export const networkPolicyPrinter: Printer<NetworkPolicy> = printerOf(
  [column('Pod-Selector'), ageColumn],
  (policy, nowMs) => [formatSelectorCell(policy.spec?.podSelector), ageCell(policy, nowMs)],
);

/** The age has a cell but no column, as upstream. */
export const ipAddressPrinter: Printer<IPAddress> = printerOf([column('ParentRef')], (address, nowMs) => {
  const parent = address.spec?.parentRef;
  if (parent === undefined) return ['<none>', ageCell(address, nowMs)];
  const { group = '', resource = '', namespace = '', name = '' } = parent;
  const of = (group === '' ? resource : `${resource}.${group}`).toLowerCase();
  return [[of, ...(namespace === '' ? [] : [namespace]), name].join('/'), ageCell(address, nowMs)];
});

export const serviceCIDRPrinter: Printer<ServiceCIDR> = printerOf([column('CIDRs'), ageColumn], (range, nowMs) => [
  (range.spec?.cidrs ?? []).join(','),
  ageCell(range, nowMs),
]);

function limited(texts: readonly string[], empty: string): string {
  if (texts.length === 0) return empty;
  return texts.length > 3 ? `${texts.slice(0, 3).join(',')} + ${texts.length - 3} more...` : texts.join(',');
}

export const endpointSlicePrinter: Printer<EndpointSlice> = printerOf(
  [column('AddressType'), column('Ports'), column('Endpoints'), ageColumn],
  (slice, nowMs) => {
    const ports = (slice.ports ?? []).map((port) => (port.port === undefined ? '*' : String(port.port)));
    const endpoints = (slice.endpoints ?? []).flatMap((endpoint) => endpoint.addresses);
    return [slice.addressType, limited(ports, '<unset>'), limited(endpoints, '<unset>'), ageCell(slice, nowMs)];
  },
);
