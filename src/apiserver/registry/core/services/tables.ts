/** The columns of services and endpoints in `kubectl get`. Upstream: printers/internalversion. */
import type { Endpoints, Service } from '../../../../api/gen/core-v1.ts';
import { ageCell, ageColumn, column, formatLabels, listOrNone, printerOf, textOrNone, wide } from '../../printing.ts';
import type { Printer } from '../../resource-definition.ts';
import { appendAll } from '../../../../base/lists.ts';

function loadBalancerAddresses(service: Service): string {
  const addresses = new Set(
    (service.status?.loadBalancer?.ingress ?? [])
      .map((ingress) => ingress.ip || ingress.hostname || '')
      .filter((text) => text !== ''),
  );
  return [...addresses].join(',');
}

function externalIp(service: Service): string {
  const external = (service.spec?.externalIPs ?? []).join(',');
  switch (service.spec?.type) {
    case 'ExternalName':
      return textOrNone(service.spec.externalName);
    case 'LoadBalancer': {
      const texts = [loadBalancerAddresses(service), external].filter((text) => text !== '');
      return texts.length === 0 ? '<pending>' : texts.join(',');
    }
    default:
      return textOrNone(external);
  }
}

function servicePorts(service: Service): string {
  return listOrNone(
    (service.spec?.ports ?? []).map((port) => {
      const nodePort = (port.nodePort ?? 0) > 0 ? `:${port.nodePort}` : '';
      return `${port.port}${nodePort}/${port.protocol ?? 'TCP'}`;
    }),
  );
}

export const servicePrinter: Printer<Service> = printerOf(
  [column('Type'), column('Cluster-IP'), column('External-IP'), column('Port(s)'), ageColumn, wide(column('Selector'))],
  (service, nowMs) => [
    service.spec?.type ?? '',
    textOrNone(service.spec?.clusterIPs?.[0] ?? service.spec?.clusterIP),
    externalIp(service),
    servicePorts(service),
    ageCell(service, nowMs),
    formatLabels(service.spec?.selector),
  ],
);

/** Addresses as endpoints show them, at most three. */
function formatEndpoints(endpoints: Endpoints): string {
  const all: string[] = [];
  for (const subset of endpoints.subsets ?? []) {
    const ports = subset.ports ?? [];
    for (const address of subset.addresses ?? []) {
      const host = address.ip.includes(':') ? `[${address.ip}]` : address.ip;
      if (ports.length === 0) all.push(address.ip);
      else
        appendAll(
          all,
          ports.map((port) => `${host}:${port.port}`),
        );
    }
  }
  if (all.length === 0) return '<none>';
  return all.length > 3 ? `${all.slice(0, 3).join(',')} + ${all.length - 3} more...` : all.join(',');
}

export const endpointsPrinter: Printer<Endpoints> = printerOf([column('Endpoints'), ageColumn], (endpoints, nowMs) => [
  formatEndpoints(endpoints),
  ageCell(endpoints, nowMs),
]);
