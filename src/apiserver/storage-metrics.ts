/**
 * Metrics of the store's latency and size under upstream's names. Kept in plain maps like those of requests
 * (`request-metrics.ts`), formatted when scraped. Upstream: storage/etcd3/metrics.
 */
import type { Clock } from '../platform/clock.ts';
import type { Store } from '../storage/store.ts';
import type { ResourceRegistry } from './generic-registry/resource-registry.ts';

const BUCKETS = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60];

interface Series {
  readonly counts: number[];
  sum: number;
  total: number;
  errors: number;
}

/** Counts and durations of the store's operations, by operation and prefix of keys. */
export class StorageMetrics {
  readonly #clock: Clock;
  readonly #series = new Map<string, Series>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Wraps a store so that its operations are measured. */
  measure(store: Store): Store {
    const timed = <T>(operation: string, key: string, work: Promise<T>): Promise<T> => {
      const sinceMs = this.#clock.monotonicMs();
      const note = (failed: boolean): void => this.#note(`${operation} ${prefixOf(key)}`, sinceMs, failed);
      work.then(
        () => note(false),
        () => note(true),
      );
      return work;
    };
    const { latestRevision, isStale, scan } = store;
    return {
      get: (key) => timed('get', key, store.get(key)),
      range: (request) => timed('list', request.start, store.range(request)),
      scan: scan && ((range, onPage) => timed('list', range.start, scan.call(store, range, onPage))),
      put: (request) => timed(request.expectRevision === 0 ? 'create' : 'update', request.key, store.put(request)),
      delete: (request) => timed('delete', request.key, store.delete(request)),
      watch: (range, watcher) => store.watch(range, watcher),
      compact: (revision) => store.compact(revision),
      status: () => store.status(),
      latestRevision: latestRevision && (() => latestRevision.call(store)),
      isStale: isStale && ((key) => isStale.call(store, key)),
      cipher: store.cipher,
      close: () => store.close(),
    };
  }

  /** From now on the series of removed custom resources are removed too. */
  follow(registry: ResourceRegistry): void {
    registry.onChange(() => {
      const known = registry.storagePrefixes();
      for (const name of this.#series.keys()) {
        const prefix = name.slice(name.indexOf(' ') + 1);
        if (isOfGroup(prefix) && !known.has(prefix)) this.#series.delete(name);
      }
    });
  }

  #note(name: string, sinceMs: number, failed: boolean): void {
    let series = this.#series.get(name);
    if (series === undefined)
      this.#series.set(name, (series = { counts: BUCKETS.map(() => 0), sum: 0, total: 0, errors: 0 }));
    const seconds = (this.#clock.monotonicMs() - sinceMs) / 1000;
    series.total++;
    series.sum += seconds;
    if (failed) series.errors++;
    const bucket = BUCKETS.findIndex((bound) => seconds <= bound);
    if (bucket >= 0) series.counts[bucket]!++;
  }

  /** Prometheus text. The store's size is omitted while the store does not answer. */
  async expose(store: Store, registry: ResourceRegistry): Promise<string> {
    const lines: string[] = [];
    const size = await store.status().catch(() => undefined);
    if (size !== undefined) {
      head(lines, 'apiserver_storage_size_bytes', [
        'gauge',
        "Size of the store's file, or of etcd's database, in bytes.",
      ]);
      lines.push(`apiserver_storage_size_bytes{storage_cluster_id="${size.kind}-0"} ${size.sizeBytes}`);
    }
    this.#exposeLatencies(lines, registry);
    exposeCounts(lines, registry);
    return `${lines.join('\n')}\n`;
  }

  #exposeLatencies(lines: string[], registry: ResourceRegistry): void {
    const names = namesByPrefix(registry);
    const labelled = [...this.#series].map(([name, series]) => {
      const [operation = '', prefix = ''] = name.split(' ');
      const { group = '', resource = prefix } = names.get(prefix) ?? {};
      return { labels: `group="${group}",operation="${operation}",resource="${resource}"`, series };
    });
    head(lines, 'etcd_requests_total', ['counter', 'Requests to the store, by operation and resource.']);
    for (const { labels, series } of labelled) lines.push(`etcd_requests_total{${labels}} ${series.total}`);
    head(lines, 'etcd_request_errors_total', ['counter', 'Requests to the store that failed.']);
    for (const { labels, series } of labelled) lines.push(`etcd_request_errors_total{${labels}} ${series.errors}`);
    const name = 'etcd_request_duration_seconds';
    head(lines, name, ['histogram', 'Time the store takes for a request, in seconds.']);
    for (const { labels, series } of labelled) {
      let below = 0;
      for (const [index, bound] of BUCKETS.entries())
        lines.push(`${name}_bucket{${labels},le="${bound}"} ${(below += series.counts[index]!)}`);
      lines.push(`${name}_bucket{${labels},le="+Inf"} ${series.total}`);
      lines.push(`${name}_sum{${labels}} ${series.sum}`, `${name}_count{${labels}} ${series.total}`);
    }
  }
}

function head(lines: string[], name: string, [type, help]: readonly [string, string]): void {
  lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
}

function namesByPrefix(registry: ResourceRegistry): Map<string, { group: string; resource: string }> {
  return new Map(
    [...registry.served].map(({ definition, groupResource }) => [definition.storagePrefix, groupResource]),
  );
}

function exposeCounts(lines: string[], registry: ResourceRegistry): void {
  const counts = new Map(
    [...registry.served].map(({ definition, groupResource, cache }) => [
      definition.storagePrefix,
      { ...groupResource, count: cache.size },
    ]),
  );
  counts.delete('');
  head(lines, 'apiserver_resource_objects', ['gauge', 'Objects stored, by resource.']);
  for (const { group, resource, count } of counts.values())
    lines.push(`apiserver_resource_objects{group="${group}",resource="${resource}"} ${count}`);
  head(lines, 'apiserver_storage_objects', ['gauge', 'Deprecated: apiserver_resource_objects takes its place.']);
  for (const { group, resource, count } of counts.values())
    lines.push(`apiserver_storage_objects{resource="${group === '' ? resource : `${resource}.${group}`}"} ${count}`);
}

/**
 * `/registry/pods/`, `/registry/services/specs/`, `/registry/example.com/things/`; the root for ranges over several
 * resources.
 */
function prefixOf(key: string): string {
  const rootEnd = key.indexOf('/', 1);
  const firstEnd = key.indexOf('/', rootEnd + 1);
  if (firstEnd < 0) return key;
  const first = key.slice(rootEnd + 1, firstEnd);
  if (first !== 'services' && !first.includes('.')) return key.slice(0, firstEnd + 1);
  const secondEnd = key.indexOf('/', firstEnd + 1);
  return secondEnd < 0 ? key : key.slice(0, secondEnd + 1);
}

/** Whether the prefix is that of a custom resource, such as `/registry/example.com/things/`. */
function isOfGroup(prefix: string): boolean {
  const [, , group = '', resource = ''] = prefix.split('/');
  return group.includes('.') && resource !== '';
}
