/**
 * Priority and fairness: classifies each request by flow schema, gives it seats of its priority level, lets it wait in the
 * level's queues or refuses it. Upstream: util/flowcontrol/apf_controller.go and server/filters/priority-and-fairness.go.
 *
 * A request that finds seats is admitted in the same turn, for the price of one small object. Which schemas can concern a
 * user at all is found once per user. Every ten seconds while there are requests, seats are lent again by demand.
 */
import type { FlowSchema } from '../../api/gen/flowcontrol-v1.ts';
import { type StatusError, tooManyRequests } from '../../api/status-error.ts';
import type { ApiHeaders, Principal } from '../../api/transport.ts';
import { onAbort } from '../../base/abort.ts';
import type { Clock } from '../../platform/clock.ts';
import type { MaxInFlight } from '../filters/max-in-flight.ts';
import type { RequestSlot } from '../filters/request-slot.ts';
import { recordRefusal } from '../refused-requests/refusal-source.ts';
import type { RequestScope } from '../request-scope.ts';
import type { FlowConfiguration } from './configuration.ts';
import { exposeFlows, FlowStats, type RefusalReason } from './flow-stats.ts';
import { distinguisherOf, type Flow, type Waiting } from './flow.ts';
import { PriorityLevel } from './priority-level.ts';
import { policyMatches, subjectsMatch } from './rules.ts';
import { lendSeats, shareSeats } from './seat-limits.ts';
import { Seat } from './seat.ts';
import { hashFlow } from './shuffle-sharding.ts';
import { type MeasureStored, seatsFor } from './work-estimate.ts';

/** The period between adjustments of borrowed concurrency. As upstream. */
const LENDING_PERIOD_MS = 10_000;

export interface FlowControllerDeps {
  readonly clock: Clock;
  /** Counts what is being served; its own limits should not bind. */
  readonly inFlight: MaxInFlight;
  readonly measureStored: MeasureStored;
}

/** The controller. Without configuration there is but `exempt` and `catch-all`. */
export class FlowController {
  readonly #deps: FlowControllerDeps;
  readonly #totalSeats: number;
  readonly #levels = new Map<string, PriorityLevel<Waiting>>();
  readonly #stats = new Map<string, FlowStats>();
  #flows: readonly Flow[] = [];
  #catchAll!: Flow;
  #ofUser = new WeakMap<Principal, readonly Flow[]>();
  #cancelLending: (() => void) | undefined;

  constructor(deps: FlowControllerDeps, totalSeats: number, configuration: FlowConfiguration) {
    this.#deps = deps;
    this.#totalSeats = totalSeats;
    this.configure(configuration);
  }

  /** Takes another configuration; what runs and waits is not disturbed. */
  configure({ schemas, levels }: FlowConfiguration): void {
    const specs = new Map([...levels].map(([name, { spec }]) => [name, spec ?? { type: 'Limited' }]));
    const limits = shareSeats(specs, this.#totalSeats);
    for (const [name, spec] of specs) {
      let level = this.#levels.get(name);
      if (level === undefined) this.#levels.set(name, (level = new PriorityLevel(name)));
      level.configure(spec, levels.get(name)!.metadata.uid ?? '', limits.get(name)!);
    }
    for (const [name, level] of this.#levels) if (!specs.has(name)) level.quiescing = true;
    this.#dropQuiet();
    this.#flows = schemas.map((schema) => this.#flowOf(schema));
    this.#catchAll = this.#flows.find(({ name }) => name === 'catch-all')!;
    this.#ofUser = new WeakMap();
    for (const level of this.#levels.values()) this.#dispatch(level);
  }

  #flowOf({ metadata, spec }: FlowSchema): Flow {
    const name = metadata.name ?? '';
    const level = this.#levels.get(spec!.priorityLevelConfiguration.name)!;
    const key = `${name}\0${level.name}`;
    let stats = this.#stats.get(key);
    if (stats === undefined) this.#stats.set(key, (stats = new FlowStats(name, level.name)));
    const headers: ApiHeaders = {
      'x-kubernetes-pf-flowschema-uid': metadata.uid ?? '',
      'x-kubernetes-pf-prioritylevel-uid': level.uid,
    };
    return { name, rules: spec!.rules ?? [], method: spec!.distinguisherMethod?.type, level, stats, headers };
  }

  /** The flow a request belongs to: the first schema that matches. */
  classify(scope: Pick<RequestScope, 'user' | 'info'>): Flow {
    let flows = this.#ofUser.get(scope.user);
    if (flows === undefined) {
      flows = this.#flows
        .map((flow) => ({ ...flow, rules: flow.rules.filter((rule) => subjectsMatch(rule, scope.user)) }))
        .filter(({ rules }) => rules.length > 0);
      this.#ofUser.set(scope.user, flows);
    }
    for (const flow of flows) for (const rule of flow.rules) if (policyMatches(rule, scope.info)) return flow;
    return this.#catchAll;
  }

  /**
   * Admits a request at once or when its turn has come. Throws or rejects with 429 when it may not wait, or has
   * waited `waitLimitMs`. The returned seat must be released once.
   */
  enter(scope: RequestScope, waitLimitMs: number): RequestSlot | Promise<RequestSlot> {
    const flow = this.classify(scope);
    scope.flowHeaders = flow.headers;
    const { level } = flow;
    const nowMs = this.#deps.clock.monotonicMs();
    if (this.#cancelLending === undefined) this.#startLending(nowMs);
    const width = level.exempt ? 1 : seatsFor(scope, level.limits.nominal, this.#deps.measureStored);
    if (level.exempt || (level.queues.size === 0 && level.fits(width))) {
      level.demand.add(width, nowMs);
      flow.stats.served.add(0);
      return this.#seat(new Seat(this, flow, width, nowMs, this.#deps.inFlight.begin(scope)));
    }
    if (!level.queuing) throw this.#refuse(flow, 'concurrency-limit', 0);
    return this.#wait(
      { flow, width, scope, distinguisher: distinguisherOf(flow, scope), arrivedMs: nowMs },
      waitLimitMs,
    );
  }

  #seat(seat: Seat): Seat {
    const { flow, width } = seat;
    flow.level.take(width);
    flow.level.counts.dispatched++;
    flow.stats.dispatched++;
    flow.stats.executing++;
    flow.stats.executingSeats += width;
    return seat;
  }

  /** Records that a request was served. */
  ended({ flow, startMs, waitsSinceMs, queued }: Seat): void {
    if (queued === undefined) return;
    const endMs = waitsSinceMs ?? this.#deps.clock.monotonicMs();
    flow.level.queues.ended(queued, (endMs - startMs) / 1000);
  }

  /** Takes a request's seats again after a wait during which they were free. */
  retaken(seat: Seat): void {
    const { flow, width, read } = seat;
    const { level, stats } = flow;
    const nowMs = this.#deps.clock.monotonicMs();
    seat.startMs += nowMs - (seat.waitsSinceMs ?? nowMs);
    seat.waitsSinceMs = undefined;
    this.#deps.inFlight.resume(read);
    level.take(width);
    level.demand.add(width, nowMs);
    stats.executing++;
    stats.executingSeats += width;
  }

  /** Frees the seats of a request that has ended or waits. */
  released(seat: Seat): void {
    const { flow, width, read } = seat;
    this.#deps.inFlight.end(read);
    const { level, stats } = flow;
    const nowMs = this.#deps.clock.monotonicMs();
    seat.waitsSinceMs = nowMs;
    level.giveBack(width);
    level.demand.add(-width, nowMs);
    stats.executing--;
    stats.executingSeats -= width;
    if (level.queues.size > 0) this.#dispatch(level);
    else if (level.quiescing) this.#dropQuiet();
  }

  #wait(request: Omit<Waiting, 'admit'>, waitLimitMs: number): Promise<RequestSlot> {
    const { flow, width, scope, distinguisher } = request;
    const { level, stats } = flow;
    const { clock } = this.#deps;
    return new Promise((resolve, reject) => {
      const end = (): void => {
        cancel();
        unhook();
        stats.waiting--;
      };
      const waiting: Waiting = {
        ...request,
        admit(seat) {
          end();
          resolve(seat);
        },
      };
      const queued = level.queues.add(waiting, hashFlow(flow.name, distinguisher));
      if (queued === undefined) return reject(this.#refuse(flow, 'queue-full', 0));
      const giveUp = (reason: RefusalReason): void => {
        if (!level.queues.remove(queued)) return;
        end();
        const nowMs = clock.monotonicMs();
        level.demand.add(-width, nowMs);
        reject(this.#refuse(flow, reason, (nowMs - request.arrivedMs) / 1000));
        // A wide request may have kept others from free seats.
        this.#dispatch(level);
      };
      const leave = (): void => giveUp('cancelled');
      const cancel = clock.setTimer(waitLimitMs, () => giveUp('time-out'));
      stats.waiting++;
      level.demand.add(width, request.arrivedMs);
      const unhook = onAbort(scope.signal, leave);
      this.#dispatch(level);
      if (scope.signal.aborted) leave();
    });
  }

  /** Serves waiting requests as long as the next one's seats are free. */
  #dispatch(level: PriorityLevel<Waiting>): void {
    const fits = ({ width }: Waiting): boolean => level.fits(width);
    for (let queued = level.queues.next(fits); queued !== undefined; queued = level.queues.next(fits)) {
      const { flow, width, scope, arrivedMs } = queued.item;
      const nowMs = this.#deps.clock.monotonicMs();
      flow.stats.served.add((nowMs - arrivedMs) / 1000);
      queued.item.admit(this.#seat(new Seat(this, flow, width, nowMs, this.#deps.inFlight.begin(scope), queued)));
    }
  }

  #refuse({ name, level, stats }: Flow, reason: RefusalReason, waitedSeconds: number): StatusError {
    stats.refuse(reason, waitedSeconds);
    if (reason === 'time-out') level.counts.timedOut++;
    else if (reason === 'cancelled') level.counts.cancelled++;
    else level.counts.rejected++;
    const error = tooManyRequests('Too many requests, please try again later.', 1);
    return recordRefusal(error, { part: 'flowControl', flow: { schema: name, level: level.name }, reason });
  }

  #startLending(nowMs: number): void {
    for (const { demand } of this.#levels.values()) demand.startPeriod(nowMs);
    this.#cancelLending = this.#deps.clock.setTicker(LENDING_PERIOD_MS, () => this.#lend());
  }

  #lend(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    const levels = [...this.#levels.values()];
    for (const { demand } of levels) demand.endPeriod(nowMs);
    const seats = lendSeats(
      levels.map(({ exempt, limits, demand: { peak, smoothed } }) => ({ ...limits, exempt, peak, smoothed })),
    );
    for (const [index, level] of levels.entries()) level.seats = seats[index]!;
    for (const level of levels) this.#dispatch(level);
    // Without requests nothing changes: the next request starts a new period.
    if (levels.every(({ demand }) => demand.peak === 0)) this.stop();
  }

  #dropQuiet(): void {
    for (const [name, level] of this.#levels) if (level.quiescing && level.idle) this.#levels.delete(name);
  }

  /** The levels in use, including those whose objects were deleted. */
  get levels(): readonly PriorityLevel<Waiting>[] {
    return [...this.#levels.values()];
  }

  /** Prometheus text. */
  expose(): string {
    return exposeFlows([...this.#stats.values()], this.levels as readonly PriorityLevel<never>[]);
  }

  /** Ends the timer. Waiting requests are still served as seats become free. */
  stop(): void {
    this.#cancelLending?.();
    this.#cancelLending = undefined;
  }
}
