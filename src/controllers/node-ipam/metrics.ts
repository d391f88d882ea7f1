/** Metrics of the usage of pod CIDR ranges. Upstream: controller/nodeipam/ipam/cidrset/metrics.go. */
import type { Metrics } from '../../platform/metrics.ts';

export interface CidrSetMetrics {
  allocated(tries: number): void;
  released(): void;
  /** The share of subnets in use, 0 to 1. */
  usage(part: number): void;
}

/** Registers the metrics of a range with this number of subnets. */
export function createCidrSetMetrics(metrics: Metrics, clusterCIDR: string, maxSubnets: number): CidrSetMetrics {
  const labels = ['clusterCIDR'];
  const own = { clusterCIDR };
  const counter = (name: string, help: string) =>
    metrics.counter({ name: `node_ipam_controller_${name}`, help, labels });
  const gauge = (name: string, help: string) => metrics.gauge({ name: `node_ipam_controller_${name}`, help, labels });
  const allocations = counter('cidrset_cidrs_allocations_total', 'Subnets given out.');
  const releases = counter('cidrset_cidrs_releases_total', 'Subnets given back.');
  const usage = gauge('cidrset_usage_cidrs', 'Part of the subnets that are taken.');
  // The misspelling is upstream's.
  gauge('cirdset_max_cidrs', 'Subnets of the range.').set(maxSubnets, own);
  const tries = metrics.histogram({
    name: 'node_ipam_controller_cidrset_allocation_tries_per_request',
    help: 'Subnets looked at for one allocation.',
    labels,
    buckets: [1, 5, 25, 125, 625],
  });
  return {
    allocated(count) {
      allocations.inc(own);
      tries.observe(count, own);
    },
    released: () => releases.inc(own),
    usage: (part) => usage.set(part, own),
  };
}
