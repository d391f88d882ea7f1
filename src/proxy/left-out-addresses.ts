/** Logs reserved addresses of services that the proxy does not serve, each once while it lasts. */
import type { Service } from '../api/gen/core-v1.ts';
import type { Log } from '../platform/log.ts';
import { externalExcess } from './external-budget.ts';
import type { IsReserved } from './reserved-addresses.ts';
import { ingressAddresses } from './service-map.ts';

/** Reports a service by its key; undefined: it was deleted. */
export type ReportLeftOut = (key: string, service: Service | undefined, isReserved: IsReserved) => void;

export function createLeftOutReport(log: Log, ownDns: string | undefined): ReportLeftOut {
  const reported = new Map<string, string>();
  return (key, service, isReserved) => {
    const leftOut = service === undefined ? '' : leftOutAddresses(service, isReserved, ownDns).join(' ');
    if (leftOut === (reported.get(key) ?? '')) return;
    if (leftOut === '') {
      reported.delete(key);
      return;
    }
    reported.set(key, leftOut);
    log.warn('addresses of a service are not served: cluster DNS, other services or the API server have them', {
      service: key,
      addresses: leftOut,
    });
  };
}

function leftOutAddresses(service: Service, isReserved: IsReserved, ownDns: string | undefined): string[] {
  const { spec } = service;
  if (ownDns !== undefined && spec?.clusterIP === ownDns) return [ownDns];
  const balanced = spec?.type === 'LoadBalancer' ? ingressAddresses(service) : [];
  const claimed = [...(spec?.externalIPs ?? []), ...balanced];
  if (claimed.length === 0 || externalExcess(service) !== undefined) return [];
  return (spec?.ports ?? []).flatMap(({ port, protocol = 'TCP' }) =>
    claimed
      .filter((ip) => isReserved({ ip, protocol: protocol.toLowerCase(), port }))
      .map((ip) => `${ip} ${port}/${protocol}`),
  );
}
