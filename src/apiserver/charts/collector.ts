/**
 * Takes the samples of the last hour: from the first question until an hour after the last one. Before and after that it has
 * no timer and no memory. The second sample comes early, since rates take two.
 */
import { Nodes } from '../../api/gen/resources.ts';
import { isNodeReady } from '../../component-helpers/nodes.ts';
import type { CancelTimer, Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { type NodeSummary } from '../metrics-api/node-summaries.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { Turns } from '../turns.ts';
import { REQUEST_MEASURES, type RequestState, requestValues } from './request-rates.ts';
import { Restarts } from './restarts.ts';
import { Rings } from './rings.ts';
import { PERIOD_MS, Timeline } from './timeline.ts';
import { TrackedPods } from './tracked-pods.ts';
import type { Traffic } from './traffic.ts';
import { UsageRings, UsageSample } from './usage-sample.ts';
import { MOST_NODES, RequestedCharts } from './wanted.ts';

export interface ChartSources {
  readonly clock: Clock;
  readonly log: Log;
  readonly objects: ObjectStore;
  /** Reads the kubelets' summaries of these nodes. */
  readonly readSummaries: (
    names: readonly string[],
    visit: (node: string, summary: NodeSummary) => Promise<void>,
  ) => Promise<void>;
  readonly requests: () => RequestState;
}

const KEPT_MS = 3_600_000;
const SECOND_SAMPLE_MS = 10_000;
const NO_NODES: ReadonlySet<string> = new Set();

/** Everything that is known as long as samples are taken. */
export class Collector {
  readonly sinceMs: number;
  readonly timeline = new Timeline();
  readonly rings = new UsageRings();
  readonly requests = new Rings<undefined>({ measures: REQUEST_MEASURES.length, most: 1 });
  readonly wanted = new RequestedCharts();
  /** Whether the newest sample has all nodes. */
  complete = true;
  readonly #sources: ChartSources;
  readonly #onEnd: () => void;
  readonly #tracked: TrackedPods;
  readonly #restarts: Restarts;
  readonly #traffic = new Map<string, Traffic>();
  readonly #ready = new Set<string>();
  readonly #cancels: CancelTimer[];
  #askedMs: number;
  #last: { readonly requests: RequestState; readonly atMs: number } | undefined;
  #sampling = false;
  #ended = false;

  /** Begins at once. `onEnd` is called when there was no request for an hour. */
  constructor(sources: ChartSources, onEnd: () => void) {
    const { clock, objects } = sources;
    this.#sources = sources;
    this.#onEnd = onEnd;
    this.#tracked = new TrackedPods(objects);
    this.#restarts = new Restarts(objects);
    this.sinceMs = clock.nowMs();
    this.#askedMs = clock.monotonicMs();
    this.#cancels = [
      this.#restarts.stop,
      objects.onChange(Nodes, (node, old) => {
        const name = (node ?? old)!.metadata.name;
        if (isNodeReady(node)) this.#ready.add(name);
        else this.#ready.delete(name);
      }),
      clock.setTimer(SECOND_SAMPLE_MS, () => this.#beat()),
      clock.setTicker(PERIOD_MS, () => this.#beat()),
    ];
    this.#beat();
  }

  /** Called at each request for a list or for requests' charts. */
  ask(): void {
    this.#askedMs = this.#sources.clock.monotonicMs();
  }

  /** Called at each request for an object, whose numbers come from these nodes. */
  askFor(uid: string, nodes: () => ReadonlySet<string>): void {
    this.ask();
    this.wanted.ask(uid, this.#ready.size > MOST_NODES ? nodes() : NO_NODES, this.timeline.newest);
  }

  end(): void {
    this.#ended = true;
    for (const cancel of this.#cancels.splice(0)) cancel();
  }

  #beat(): void {
    const { clock, log } = this.#sources;
    if (clock.monotonicMs() - this.#askedMs > KEPT_MS) {
      this.end();
      this.#onEnd();
      return;
    }
    if (this.#sampling) return;
    this.#sampling = true;
    void this.#sample()
      .catch((error: unknown) => log.unexpected('no sample for the charts', error))
      .finally(() => {
        this.#sampling = false;
      });
  }

  async #sample(): Promise<void> {
    const { clock, requests, readSummaries } = this.#sources;
    const { timeline, wanted, rings } = this;
    const slot = timeline.begin(clock.nowMs());
    const now = { requests: requests(), atMs: clock.monotonicMs() };
    const seconds = this.#last === undefined ? 0 : (now.atMs - this.#last.atMs) / 1000;
    const values = requestValues(this.#last?.requests, now.requests, seconds);
    this.requests.write('', undefined, { slot, values });
    this.#last = now;
    const { names, complete } = wanted.nodes(this.#ready);
    const state = { rings, wanted, tracked: this.#tracked, traffic: this.#traffic };
    const sample = new UsageSample(state, { slot, restarts: this.#restarts.take(), clock });
    const turns = new Turns(clock);
    await readSummaries(names, (node, summary) => sample.take(node, summary, () => turns.next()));
    if (this.#ended) return;
    sample.finish(new Set(names), complete);
    wanted.forgetBefore(slot);
    this.complete = complete;
    timeline.newest = slot;
  }
}
