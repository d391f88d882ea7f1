/** Metrics of unreachable aggregated APIs. Upstream: kube-aggregator controllers/status/metrics. */
import type { Metrics } from '../../platform/metrics.ts';
import type { Availability } from './remote-service.ts';

export interface AvailabilityMetrics {
  note(name: string, availability: Availability): void;
  /** Call when the APIService was deleted or replaced. */
  gone(name: string): void;
}

export function createAvailabilityMetrics(metrics: Metrics): AvailabilityMetrics {
  const now = metrics.gauge({
    name: 'aggregator_unavailable_apiservice',
    help: 'APIServices that are marked as unavailable, by name.',
    labels: ['name'],
  });
  const total = metrics.counter({
    name: 'aggregator_unavailable_apiservice_total',
    help: 'How often APIServices were found unavailable after they had not been, by name and reason.',
    labels: ['name', 'reason'],
  });
  const unavailable = new Map<string, string>();
  return {
    note(name, { available, reason }) {
      now.set(available ? 0 : 1, { name });
      if (available) unavailable.delete(name);
      else if (unavailable.get(name) !== reason) {
        unavailable.set(name, reason);
        total.inc({ name, reason });
      }
    },
    gone(name) {
      now.remove({ name });
      unavailable.delete(name);
    },
  };
}
