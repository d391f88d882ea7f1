/**
 * Counts requests under upstream's metric names. Kept in plain maps and written out when scraped: a labelled counter of
 * the metrics library costs more than serving a small GET.
 */
import { escapeLabelValue } from '../platform/label-value.ts';
import { copyOf } from '../base/text-interner.ts';
import type { Steps } from '../base/steps.ts';
import { AuthenticationMetrics } from './authentication-metrics.ts';
import type { ResourceKey, ResourceRegistry } from './generic-registry/resource-registry.ts';
import { exposeHead, exposeHistogram } from './histogram-text.ts';
import type { RequestScope } from './request-scope.ts';
import { isLongRunning, type MaxInFlight } from './filters/max-in-flight.ts';

/** Printing this many series takes a few milliseconds. */
const SERIES_OF_A_STEP = 200;

const BUCKETS = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60];

/** The upper bounds of the buckets, in seconds, also used by `RequestTotals`. */
export const DURATION_BUCKETS: readonly number[] = BUCKETS;

const NO_COUNTS: readonly number[] = BUCKETS.map(() => 0);

/** Formatted only when scraped: most series of a short-lived server never are. */
type Labels = readonly (readonly [string, string])[];

interface Series {
  readonly labels: Labels;
  /** The requested resource; undefined for requests that other parts of the server answer. */
  readonly resource: ResourceKey | undefined;
  readonly codes: Map<number, number>;
  readonly whole: Durations;
  /** Without waiting times; absent for long-running requests. */
  readonly served: Durations | undefined;
}

interface Durations {
  readonly counts: number[];
  sum: number;
  total: number;
}

/** Counts of requests by duration: per bucket of `DURATION_BUCKETS` (not cumulative), and in total. */
export type DurationCounts = Pick<Readonly<Durations>, 'counts' | 'total'>;

/** Totals of all answered requests. */
export interface RequestTotals {
  /** Short requests, without waiting times. */
  readonly reads: DurationCounts;
  readonly writes: DurationCounts;
  readonly watches: number;
  readonly clientErrors: number;
  readonly serverErrors: number;
  readonly readsInFlight: number;
  readonly writesInFlight: number;
}

function noDurations(): Durations {
  return { counts: [...NO_COUNTS], sum: 0, total: 0 };
}

function add(durations: Durations, seconds: number): void {
  durations.sum += seconds;
  durations.total++;
  const bucket = BUCKETS.findIndex((bound) => seconds <= bound);
  if (bucket >= 0) durations.counts[bucket]!++;
}

function addAll(total: Durations, { counts, total: more }: Durations): void {
  total.total += more;
  for (const [bucket, count] of counts.entries()) total.counts[bucket]! += count;
}

const READ_VERBS: ReadonlySet<string> = new Set(['GET', 'LIST']);

const METRIC_VERBS: ReadonlyMap<string, string> = new Map([
  ['create', 'POST'],
  ['update', 'PUT'],
  ['head', 'GET'],
  ...['get', 'list', 'watch', 'post', 'put', 'patch', 'delete', 'deletecollection', 'connect'].map(
    (verb) => [verb, verb.toUpperCase()] as const,
  ),
]);
const CONNECTS: ReadonlySet<string> = new Set(['exec', 'attach', 'portforward', 'proxy']);

/**
 * The verb in upstream's metrics: the method where it says what is done, and special verbs. Unknown methods, which
 * clients may invent, are `other`.
 */
function verbOf({ info, request }: RequestScope): string {
  const { verb } = info;
  if (info.isResourceRequest && CONNECTS.has(info.subresource)) return 'CONNECT';
  if (verb === 'patch' && request.headers['content-type']?.startsWith('application/apply-patch') === true)
    return 'APPLY';
  return METRIC_VERBS.get(verb) ?? 'other';
}

function scopeOf({ info }: RequestScope): string {
  if (!info.isResourceRequest) return '';
  if (info.name !== '' || info.verb === 'create') return 'resource';
  return info.namespace === '' ? 'cluster' : 'namespace';
}

/** Labels of a resource that is not served are copies, because the texts of a request are substrings of its whole path. */
function labelsOf(scope: RequestScope, place: string, served: ResourceKey | undefined): Labels {
  const { info } = scope;
  return [
    ['component', 'apiserver'],
    ['group', served?.group ?? copyOf(info.apiGroup)],
    ['resource', served?.resource ?? copyOf(info.resource)],
    ['scope', scopeOf(scope)],
    ['subresource', copyOf(place)],
    ['verb', verbOf(scope)],
    ['version', served?.version ?? copyOf(info.apiVersion)],
  ];
}

/** Equal for requests with equal labels. */
function keyOf(scope: RequestScope, place: string): string {
  const { info } = scope;
  return `${verbOf(scope)} ${info.apiGroup}/${info.apiVersion}/${info.resource}/${place} ${scopeOf(scope)}`;
}

const UNKNOWN_LABELS: Labels = [
  ['component', 'apiserver'],
  ['group', ''],
  ['resource', ''],
  ['scope', ''],
  ['subresource', ''],
  ['verb', 'other'],
  ['version', ''],
];

function textOf(labels: Labels): string {
  return labels.map(([name, value]) => `${name}="${escapeLabelValue(value)}"`).join(',');
}

/** Requests served so far. */
export class RequestMetrics {
  readonly #series = new Map<string, Series>();
  readonly #inFlight: MaxInFlight;
  readonly #registry: ResourceRegistry;
  #terminations = 0;
  readonly authentication = new AuthenticationMetrics();

  /** Series of removed resources are removed too: changing definitions would otherwise fill the memory. */
  constructor(inFlight: MaxInFlight, registry: ResourceRegistry) {
    this.#inFlight = inFlight;
    this.#registry = registry;
    registry.onChange(() => {
      for (const [key, { resource }] of this.#series)
        if (resource !== undefined && !this.#isServed(resource)) this.#series.delete(key);
    });
  }

  /** Undefined for what is not served. Its texts are the registry's, so that series keep no part of a request alive. */
  #servedResource({ info }: RequestScope): ResourceKey | undefined {
    const store = this.#registry.find(info.apiGroup, info.apiVersion, info.resource);
    if (store === undefined) return undefined;
    const { group, version, resource } = store.info;
    return { group, version, resource };
  }

  #isServed({ group, version, resource }: ResourceKey): boolean {
    return this.#registry.find(group, version, resource) !== undefined;
  }

  /**
   * Records one answer. `place`: the part of the server that was requested (`Director.served`); requests for unknown
   * paths share one series, so that clients cannot fill the memory.
   */
  observe(
    scope: RequestScope,
    answer: { code: number; seconds: number; waitedSeconds: number; place: string | undefined },
  ): void {
    const { place } = answer;
    const key = place === undefined ? '' : keyOf(scope, place);
    let series = this.#series.get(key);
    if (series === undefined) {
      const resource = place === undefined ? undefined : this.#servedResource(scope);
      const labels = place === undefined ? UNKNOWN_LABELS : labelsOf(scope, place, resource);
      const served = place !== undefined && isLongRunning(scope) ? undefined : noDurations();
      this.#series.set(key, (series = { labels, resource, codes: new Map(), whole: noDurations(), served }));
    }
    series.codes.set(answer.code, (series.codes.get(answer.code) ?? 0) + 1);
    add(series.whole, answer.seconds);
    if (series.served !== undefined) add(series.served, Math.max(0, answer.seconds - answer.waitedSeconds));
  }

  /** Records a request refused for overload. */
  terminated(): void {
    this.#terminations++;
  }

  /** Sums over all series. They decrease when a resource is removed with its series. */
  totals(): RequestTotals {
    const [reads, writes] = [noDurations(), noDurations()];
    let [watches, clientErrors, serverErrors] = [0, 0, 0];
    for (const { labels, codes, served, whole } of this.#series.values()) {
      const verb = labels.find(([name]) => name === 'verb')![1];
      if (served !== undefined) addAll(READ_VERBS.has(verb) ? reads : writes, served);
      else if (verb === 'WATCH') watches += whole.total;
      for (const [code, count] of codes) {
        if (code >= 500) serverErrors += count;
        else if (code >= 400) clientErrors += count;
      }
    }
    const { readOnly: readsInFlight, mutating: writesInFlight } = this.#inFlight;
    return { reads, writes, watches, clientErrors, serverErrors, readsInFlight, writesInFlight };
  }

  /** Prometheus text, in steps: there may be thousands of series of 26 lines. `watches`: the number of open watches. */
  *expose(watches: number): Steps<string> {
    const lines: string[] = [];
    exposeHead(lines, 'apiserver_request_total', 'counter', 'Requests answered, by verb, resource and code.');
    for (const { labels, codes } of this.#series.values()) {
      const text = textOf(labels);
      for (const [code, count] of codes)
        lines.push(`apiserver_request_total{code="${code}",dry_run="",${text}} ${count}`);
    }
    yield;
    const whole = 'apiserver_request_duration_seconds';
    exposeHead(lines, whole, 'histogram', 'Time to answer a request, in seconds.');
    yield* this.#histograms(lines, whole, (series) => series.whole);
    const served = 'apiserver_request_sli_duration_seconds';
    exposeHead(lines, served, 'histogram', 'Time to answer a request without its wait for a turn, in seconds.');
    yield* this.#histograms(lines, served, (series) => series.served);
    exposeHead(lines, 'apiserver_current_inflight_requests', 'gauge', 'Short requests being served.');
    lines.push(`apiserver_current_inflight_requests{request_kind="mutating"} ${this.#inFlight.mutating}`);
    lines.push(`apiserver_current_inflight_requests{request_kind="readOnly"} ${this.#inFlight.readOnly}`);
    exposeHead(lines, 'apiserver_request_terminations_total', 'counter', 'Requests refused for overload.');
    lines.push(`apiserver_request_terminations_total{component="apiserver",code="429"} ${this.#terminations}`);
    exposeHead(lines, 'apiserver_longrunning_requests', 'gauge', 'Watches being served.');
    lines.push(`apiserver_longrunning_requests{component="apiserver",verb="WATCH"} ${watches}`);
    this.authentication.expose(lines);
    return `${lines.join('\n')}\n`;
  }

  /** Appends one histogram of each series that has it. */
  *#histograms(lines: string[], name: string, durationsOf: (series: Series) => Durations | undefined): Steps<void> {
    let count = 0;
    for (const series of this.#series.values()) {
      const durations = durationsOf(series);
      if (durations === undefined) continue;
      exposeHistogram(lines, { name, labels: textOf(series.labels), bounds: BUCKETS }, durations);
      if (++count % SERIES_OF_A_STEP === 0) yield;
    }
  }
}
