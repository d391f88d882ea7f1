/**
 * The server's metrics under CoreDNS's names. Queries are counted in plain numbers and added to the registry
 * periodically, since a labelled counter costs more than a cached response.
 */
import type { CancelTimer, Clock } from '../platform/clock.ts';
import type { Metrics } from '../platform/metrics.ts';

export interface DnsMetrics {
  answered(transport: 'udp' | 'tcp', type: string, rcode: string): void;
  start(): void;
  /** Adds the remaining counts. */
  stop(): void;
}

const HAND_OVER_MS = 5_000;
/** Types with a label of their own, as CoreDNS has them; others are `other`. */
const LABELLED = new Set(['A', 'AAAA', 'CNAME', 'MX', 'NS', 'PTR', 'SOA', 'SRV', 'TXT', 'ANY']);

export function createDnsMetrics({ clock, metrics }: { readonly clock: Clock; readonly metrics: Metrics }): DnsMetrics {
  const requests = metrics.counter({
    name: 'coredns_dns_requests_total',
    help: 'Counter of DNS requests made per zone, protocol and family.',
    labels: ['proto', 'type'],
  });
  const responses = metrics.counter({
    name: 'coredns_dns_responses_total',
    help: 'Counter of response status codes.',
    labels: ['rcode'],
  });
  const counts = new Map<string, number>();
  let cancel: CancelTimer = () => undefined;
  const handOver = (): void => {
    for (const [key, count] of counts) {
      const [proto = '', type = '', rcode = ''] = key.split(' ');
      requests.inc({ proto, type }, count);
      responses.inc({ rcode }, count);
    }
    counts.clear();
  };
  return {
    answered(transport, type, rcode) {
      const key = `${transport} ${LABELLED.has(type) ? type : 'other'} ${rcode}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    },
    start() {
      cancel = clock.setTicker(HAND_OVER_MS, handOver);
    },
    stop() {
      cancel();
      handOver();
    },
  };
}
