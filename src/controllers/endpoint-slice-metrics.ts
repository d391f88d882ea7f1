/** Metrics of writing EndpointSlices. Upstream: endpointslice/metrics and endpointslicemirroring/metrics. */
import type { EndpointSlice } from '../api/gen/discovery-v1.ts';
import { StepMeter, type Steps } from '../base/steps.ts';
import type { Metrics } from '../platform/metrics.ts';

/** The changes that a sync of one service made to its slices, of one address type or of all. */
export interface SliceChanges {
  /** The service and the address type; a later report with the same key replaces the earlier one. */
  readonly key: string;
  readonly existing: readonly EndpointSlice[];
  readonly create: readonly EndpointSlice[];
  readonly update: readonly EndpointSlice[];
  readonly remove: readonly EndpointSlice[];
}

export interface EndpointSliceMetrics {
  /** Changes that were written. */
  changed(changes: SliceChanges): Steps<void>;
  /** Removes a deleted service, or one of its address types, by the keys' prefix. */
  forget(service: string, type?: string): void;
}

const PER_SYNC = Array.from({ length: 15 }, (_, i) => 2 * 2 ** i);
const MAX_PER_SLICE = 100;
const ADDRESSES_PER_STEP = 10_000;

/** Registers the metrics of one of the two controllers. */
export function createEndpointSliceMetrics(metrics: Metrics, subsystem: string): EndpointSliceMetrics {
  const gauge = (name: string, help: string) => metrics.gauge({ name: `${subsystem}_${name}`, help });
  const histogram = (name: string, help: string) =>
    metrics.histogram({ name: `${subsystem}_${name}`, help, buckets: PER_SYNC });
  const added = histogram('endpoints_added_per_sync', 'Endpoints added in a sync of a service.');
  const removed = histogram('endpoints_removed_per_sync', 'Endpoints removed in a sync of a service.');
  const desired = gauge('endpoints_desired', 'Endpoints that there should be.');
  const number = gauge('num_endpoint_slices', 'EndpointSlices that there are.');
  const fewest = gauge('desired_endpoint_slices', 'EndpointSlices that there would be with perfect allocation.');
  const changes = metrics.counter({
    name: `${subsystem}_changes`,
    help: 'Changes of EndpointSlices.',
    labels: ['operation'],
  });
  const known = new Map<string, Numbers>();
  const totals = { endpoints: 0, slices: 0, fewest: 0 };
  const note = (key: string, now: Numbers | undefined): void => {
    for (const [counts, sign] of [[known.get(key), -1] as const, [now, 1] as const]) {
      if (counts === undefined) continue;
      totals.endpoints += sign * counts.endpoints;
      totals.slices += sign * counts.slices;
      totals.fewest += sign * Math.max(1, Math.ceil(counts.endpoints / MAX_PER_SLICE));
    }
    if (now === undefined) known.delete(key);
    else known.set(key, now);
    desired.set(totals.endpoints);
    number.set(totals.slices);
    fewest.set(totals.fewest);
  };
  return {
    *changed({ key, existing, create, update, remove }) {
      const isSame = create.length + update.length + remove.length === 0;
      const before = isSame && known.has(key) ? undefined : yield* addressesOf(existing);
      if (before === undefined) {
        added.observe(0);
        removed.observe(0);
        return;
      }
      const touched = new Set([...update, ...remove].map(({ metadata }) => metadata.uid));
      const now = [...existing.filter(({ metadata }) => !touched.has(metadata.uid)), ...create, ...update];
      const after = yield* addressesOf(now);
      added.observe([...after].filter((address) => !before.has(address)).length);
      removed.observe([...before].filter((address) => !after.has(address)).length);
      for (const [operation, slices] of Object.entries({ create, update, delete: remove }))
        if (slices.length > 0) changes.inc({ operation }, slices.length);
      note(key, now.length === 0 ? undefined : { endpoints: after.size, slices: now.length });
    },
    forget(service, type) {
      const keys = type === undefined ? [service, `${service} IPv4`, `${service} IPv6`] : [`${service} ${type}`];
      for (const key of keys) if (known.has(key)) note(key, undefined);
    },
  };
}

interface Numbers {
  readonly endpoints: number;
  readonly slices: number;
}

function* addressesOf(slices: readonly EndpointSlice[]): Steps<Set<string>> {
  const found = new Set<string>();
  const meter = new StepMeter(ADDRESSES_PER_STEP);
  for (const { endpoints = [] } of slices)
    for (const { addresses } of endpoints) {
      for (const address of addresses) found.add(address);
      if (meter.endsStep(addresses.length)) yield;
    }
  return found;
}
