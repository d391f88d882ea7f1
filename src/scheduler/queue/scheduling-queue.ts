/**
 * The scheduling queue: active pods in the profile's order, pods in back-off, and pods that wait for an event. An
 * event moves only pods whose rejecting plugins registered for it. Events during a pod's attempt are kept until the
 * attempt ends, so none is missed. Back-off lets other pods go first: when there are none, rejected pods are tried
 * before it ends; after an error it is always waited out. Upstream: PriorityQueue in scheduler/backend/queue
 * (moveAllToActiveOrBackoffQueue, flushUnschedulablePodsLeftover, AddUnschedulableIfNotPresent).
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { Heap } from '../../base/heap.ts';
import type { QueuedPod } from '../framework/plugin.ts';
import { BackoffPods } from './backoff-pods.ts';
import { type ClusterEvent, eventLabel } from './cluster-event.ts';
import type { QueueConfig, QueueDeps, QueuePart, QueuePlace, SchedulingQueue } from './contract.ts';
import { EventTurns } from './event-turns.ts';
import type { Entry, GatedEntry, HappenedEvent } from './queue-entries.ts';
import { createRequeueTest, type RequeueTest } from './queueing-hints.ts';
import { setAside } from './set-aside.ts';
import { UnschedulablePods } from './unschedulable-pods.ts';

const FAILURE = 'ScheduleAttemptFailure';

export function createSchedulingQueue(deps: QueueDeps, config: QueueConfig): SchedulingQueue {
  return new Queue(deps, config);
}

/** An event whose hints are still to be asked. */
interface WaitingEvent extends HappenedEvent {
  /** The pod that it is about, which left its node as its binding failed. */
  readonly leaving?: string;
}

const uidOf = (pod: Stored<Pod>): string => pod.metadata.uid;

class Queue implements SchedulingQueue {
  readonly #deps: QueueDeps;
  readonly #config: QueueConfig;
  readonly #active: Heap<Entry>;
  readonly #backoff: BackoffPods<Entry>;
  readonly #unschedulable = new UnschedulablePods<Entry>();
  readonly #gated = new UnschedulablePods<GatedEntry>();
  /** Pods in flight, with the events since they were popped. */
  readonly #inFlight = new Map<string, { entry: Entry; events: HappenedEvent[]; latest: Stored<Pod> | undefined }>();
  #ready: () => void = () => undefined;
  readonly #cancelFlush: () => void;
  readonly #events: EventTurns<WaitingEvent>;
  readonly #isWorthRequeuing: RequeueTest;

  constructor(deps: QueueDeps, config: QueueConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#isWorthRequeuing = createRequeueTest(deps);
    this.#active = new Heap(
      (e) => uidOf(e.pod),
      (a, b) => deps.less(a, b) < 0,
    );
    const { clock, less } = deps;
    this.#backoff = new BackoffPods<Entry>({
      clock,
      less,
      onCompleted: (entry) => this.#enqueue(entry, 'BackoffComplete'),
    });
    this.#events = new EventTurns({
      clock,
      visit: (event) => this.#visit(event),
      overflow: (event) => this.#wakeAll(event),
      failed: (error) => deps.hintFailed?.('', error),
    });
    this.#cancelFlush = deps.clock.setTicker(30_000, () => this.#flushUnschedulablePodsLeftover());
  }

  add(pod: Stored<Pod>): void {
    const uid = uidOf(pod);
    if (this.#find(uid) !== undefined || this.#inFlight.has(uid)) return this.update(undefined, pod);
    const queuedAtMs = this.#deps.clock.monotonicMs();
    const never = { attempts: 0, rejections: 0, errors: 0, setAsideAtMs: 0, backoffEndsMs: 0 };
    this.#enqueue({ pod, queuedAtMs, rejectedBy: new Set(), ...never }, 'UnschedulablePodAdd');
  }

  update(old: Stored<Pod> | undefined, pod: Stored<Pod>): void {
    const uid = uidOf(pod);
    const flying = this.#inFlight.get(uid);
    if (flying !== undefined) {
      flying.latest = pod;
      flying.events.push({ event: 'pod/update', oldObject: old, newObject: pod });
      return;
    }
    const entry = this.#find(uid);
    if (entry === undefined) return this.add(pod);
    const label = eventLabel('pod/update');
    if (this.#unschedulable.get(uid) !== undefined) {
      entry.pod = pod;
      return this.#wakeIfHelped(entry, { event: 'pod/update', oldObject: old, newObject: pod });
    }
    if (this.#gated.get(uid) !== undefined) {
      entry.pod = pod;
      return this.#tryGate(entry, label);
    }
    const isInBackoff = this.#backoff.get(uid) !== undefined;
    this.#drop(uid);
    entry.pod = pod;
    if (isInBackoff) this.#backoff.replace(entry);
    else this.#enqueue(entry, label);
  }

  remove(uid: string): void {
    this.#drop(uid);
    this.#inFlight.delete(uid);
  }

  pop(): QueuedPod | undefined {
    const entry = this.#active.pop() ?? this.#popFromBackoff();
    if (entry === undefined) return undefined;
    entry.attempts++;
    this.#inFlight.set(uidOf(entry.pod), { entry, events: [], latest: undefined });
    return entry;
  }

  done(uid: string): void {
    this.#inFlight.delete(uid);
  }

  addUnschedulableIfNotPresent(queued: QueuedPod, rejectedBy: ReadonlySet<string>): void {
    const uid = uidOf(queued.pod);
    const flying = this.#inFlight.get(uid);
    if (flying === undefined) return; // deleted during its attempt
    this.#inFlight.delete(uid);
    const { entry, events, latest } = flying;
    entry.pod = latest ?? queued.pod;
    entry.rejectedBy = rejectedBy;
    setAside(entry, this.#config, this.#deps.clock.monotonicMs());
    if (rejectedBy.size === 0) return this.#wake(entry, FAILURE);
    this.#unschedulable.set(uid, entry);
    if (!events.some((e) => this.#isWorthRequeuing(entry, e))) return this.#deps.incoming?.(FAILURE, 'unschedulable');
    this.#unschedulable.delete(uid);
    this.#wake(entry, FAILURE);
  }

  activate(uid: string): void {
    const entry = this.#unschedulable.get(uid) ?? this.#backoff.get(uid);
    if (entry === undefined) return;
    this.#drop(uid);
    this.#enqueue(entry, 'ForceActivate');
  }

  notify(event: ClusterEvent, oldObject?: unknown, newObject?: unknown): void {
    const happened: HappenedEvent = { event, oldObject, newObject };
    const leaving = event === 'assigned-pod/delete' ? (oldObject as Stored<Pod> | undefined)?.metadata.uid : undefined;
    for (const [uid, flying] of this.#inFlight) if (uid !== leaving) flying.events.push(happened);
    this.#events.add(leaving === undefined ? happened : { ...happened, leaving });
  }

  onReady(listener: () => void): void {
    this.#ready = listener;
  }

  counts(): Record<QueuePart, number> {
    return {
      active: this.#active.size,
      backoff: this.#backoff.size,
      unschedulable: this.#unschedulable.size,
      gated: this.#gated.size,
    };
  }

  *rejected(): IterableIterator<Pick<Entry, 'pod' | 'rejectedBy'>> {
    for (const [, entry] of this.#unschedulable.entries()) yield entry;
    for (const [, { entry, rejectedBy }] of this.#gated.entries())
      yield { pod: entry.pod, rejectedBy: rejectedBy.union(entry.rejectedBy) };
    yield* this.#backoff.values();
    yield* this.#active.values();
  }

  place(uid: string): QueuePlace | undefined {
    const entry = this.#find(uid) ?? this.#inFlight.get(uid)?.entry;
    if (entry === undefined) return undefined;
    const nowMs = this.#deps.clock.monotonicMs();
    const { attempts, rejectedBy } = entry;
    const common = { attempts, waitingMs: nowMs - entry.queuedAtMs, rejectedBy };
    if (this.#backoff.get(uid) !== undefined)
      return { ...common, part: 'backoff', nextTryMs: Math.max(0, entry.backoffEndsMs - nowMs) };
    if (this.#unschedulable.get(uid) !== undefined) return { ...common, part: 'unschedulable' };
    if (this.#gated.get(uid) !== undefined)
      return { ...common, part: 'gated', gate: this.#deps.preEnqueue(entry.pod)?.reasons.join(', ') ?? '' };
    return { ...common, part: this.#inFlight.has(uid) ? 'in-flight' : 'active' };
  }

  stop(): void {
    this.#backoff.stop();
    this.#cancelFlush();
  }

  #find(uid: string): Entry | undefined {
    return (
      this.#active.get(uid) ?? this.#backoff.get(uid) ?? this.#unschedulable.get(uid) ?? this.#gated.get(uid)?.entry
    );
  }

  #drop(uid: string): void {
    this.#active.remove(uid);
    this.#backoff.remove(uid);
    this.#unschedulable.delete(uid);
    this.#gated.delete(uid);
  }

  #enqueue(entry: Entry, event: string): void {
    const held = this.#deps.preEnqueue(entry.pod);
    if (held !== undefined) {
      this.#hold(entry, held.plugin);
      return this.#deps.incoming?.(event, 'gated');
    }
    this.#active.set(entry);
    this.#deps.incoming?.(event, 'active');
    this.#ready();
  }

  /** Wakes pods that the event may help, with a pause after each. */
  *#visit({ leaving, ...happened }: WaitingEvent): Generator<undefined> {
    const { event } = happened;
    const { wants } = this.#deps;
    const groups = [...this.#unschedulable.groups()].filter(([plugin]) => wants(plugin, event));
    for (const [uid, entry] of groups.flatMap(([, entries]) => [...entries])) {
      // Another event, or the same one by another plugin, may have woken it meanwhile.
      if (uid !== leaving && this.#unschedulable.get(uid) === entry) this.#wakeIfHelped(entry, happened);
      yield;
    }
    const gates = [...this.#gated.groups()].filter(([gate]) => wants(gate, event));
    for (const [uid, held] of gates.flatMap(([, entries]) => [...entries])) {
      const { entry, rejectedBy } = held;
      if (this.#gated.get(uid) === held && this.#isWorthRequeuing({ pod: entry.pod, rejectedBy }, happened))
        this.#tryGate(entry, eventLabel(event));
      yield;
    }
  }

  /** Wakes all pods, without a question. */
  #wakeAll({ event }: WaitingEvent): void {
    for (const [uid, entry] of this.#unschedulable.entries()) {
      this.#unschedulable.delete(uid);
      this.#wake(entry, eventLabel(event));
    }
    for (const [, { entry }] of this.#gated.entries()) this.#tryGate(entry, eventLabel(event));
  }

  #wakeIfHelped(entry: Entry, happened: HappenedEvent): void {
    if (!this.#isWorthRequeuing(entry, happened)) return;
    this.#unschedulable.delete(uidOf(entry.pod));
    this.#wake(entry, eventLabel(happened.event));
  }

  /** Admits the pod unless a PreEnqueue plugin, the same or another, still keeps it out. */
  #tryGate(entry: Entry, event: string): void {
    const uid = uidOf(entry.pod);
    const held = this.#deps.preEnqueue(entry.pod);
    if (held === undefined) {
      this.#gated.delete(uid);
      this.#wake(entry, event);
    } else if (this.#gated.get(uid)?.rejectedBy.has(held.plugin) !== true) this.#hold(entry, held.plugin);
  }

  #hold(entry: Entry, gate: string): void {
    const triedAtMs = this.#deps.clock.monotonicMs();
    this.#gated.set(uidOf(entry.pod), { entry, rejectedBy: new Set([gate]), triedAtMs });
  }

  /** Moves the pod to the active queue, or to the back-off queue while its back-off lasts. */
  #wake(entry: Entry, event: string): void {
    if (entry.backoffEndsMs <= this.#deps.clock.monotonicMs() || this.#deps.preEnqueue(entry.pod) !== undefined)
      return this.#enqueue(entry, event);
    this.#backoff.add(entry);
    this.#deps.incoming?.(event, 'backoff');
    if (entry.rejectedBy.size > 0) this.#ready();
  }

  #popFromBackoff(): Entry | undefined {
    const entry = this.#backoff.popRejected();
    if (entry !== undefined) this.#deps.incoming?.('PopFromBackoffQ', 'active');
    return entry;
  }

  /** Retries pods that have waited too long, in case a queueing hint was wrong. */
  #flushUnschedulablePodsLeftover(): void {
    const now = this.#deps.clock.monotonicMs();
    const before = now - this.#config.maxUnschedulableMs;
    for (const [uid, entry] of this.#unschedulable.entries()) {
      if (entry.setAsideAtMs > before) continue;
      this.#unschedulable.delete(uid);
      this.#wake(entry, 'UnschedulableTimeout');
    }
    for (const [, gated] of this.#gated.entries()) {
      if (gated.triedAtMs > before) continue;
      gated.triedAtMs = now;
      this.#tryGate(gated.entry, 'UnschedulableTimeout');
    }
  }
}
