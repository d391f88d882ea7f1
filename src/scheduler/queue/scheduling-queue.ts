/**
 * The scheduling queue: pods ready to be tried (by the profile's sort), pods in back-off, and pods that wait for an event
 * that could help them. An event wakes only the pods whose rejecting plugins asked for it. Events that arrive while a
 * pod is being tried are remembered until its verdict is in, so none is missed. Upstream: scheduler/backend/queue.
 */
import { Heap } from '../../base/heap.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Clock } from '../../platform/clock.ts';
import type { QueuedPod, SchedulerPlugin } from '../framework/plugin.ts';
import type { Status } from '../framework/status.ts';
import { UnschedulablePods } from './unschedulable-pods.ts';
import { eventLabel, type ClusterEvent } from './cluster-event.ts';

/** Upstream's defaults: 1 s doubling to 10 s; five minutes at most without a try. */
export interface QueueConfig {
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
  readonly maxUnschedulableMs: number;
}

/** What the queue needs. */
export interface QueueDeps {
  readonly clock: Clock;
  readonly less: (a: QueuedPod, b: QueuedPod) => number;
  /** Who may hold a pod out altogether. */
  readonly preEnqueue: (pod: Pod) => Status | undefined;
  /** Whose hints count for the pod. */
  readonly pluginsOf: (pod: Pod) => readonly SchedulerPlugin[];
  /** Whether plugins of the name want such events at all. */
  readonly wants: (plugin: string, event: ClusterEvent) => boolean;
  /** Told whenever a pod enters a part of the queue, with the event that brought it there. */
  readonly incoming?: (event: string, queue: QueuePart) => void;
}

/** The parts in which pods wait. */
export type QueuePart = 'active' | 'backoff' | 'unschedulable' | 'gated';

/** Where a pod is in the queue. */
export interface QueuePlace {
  readonly part: 'active' | 'backoff' | 'unschedulable' | 'gated' | 'in-flight';
  readonly attempts: number;
  readonly waitingMs: number;
  readonly nextTryMs?: number;
  readonly rejectedBy: ReadonlySet<string>;
  /** Why it is held out. */
  readonly gate?: string;
}

/** The queue. */
export interface SchedulingQueue {
  add(pod: Pod): void;
  /** A changed pod that is not bound: tried again if the change could help. */
  update(old: Pod | undefined, pod: Pod): void;
  remove(uid: string): void;
  /** The next pod to try; undefined when there is none now (wait for `onReady`). The pod is in flight until `done` or `requeue`. */
  pop(): QueuedPod | undefined;
  /** The pod is bound or gone. */
  done(uid: string): void;
  /** The pod, as it is now, could not be placed; `rejectedBy` names the plugins, empty after an error. */
  requeue(pod: QueuedPod, rejectedBy: ReadonlySet<string>): void;
  /** The pod, if it waits, is tried at once, without back-off. */
  activate(uid: string): void;
  /** Something happened in the cluster. That a pod leaves its node is no news to the pod itself: its binding has failed. */
  notify(event: ClusterEvent, oldObject?: unknown, newObject?: unknown): void;
  /** Called whenever `pop` may have something again. */
  onReady(listener: () => void): void;
  counts(): {
    readonly active: number;
    readonly backoff: number;
    readonly unschedulable: number;
    readonly gated: number;
  };
  /** Pods that were rejected, until they are tried again, and those held out, with who holds them. */
  rejected(): Iterable<{ readonly pod: Pod; readonly rejectedBy: ReadonlySet<string> }>;
  /** Undefined: not here. */
  place(uid: string): QueuePlace | undefined;
  stop(): void;
}

const FAILURE = 'ScheduleAttemptFailure';

interface Entry {
  pod: Pod;
  attempts: number;
  readonly queuedAtMs: number;
  rejectedBy: ReadonlySet<string>;
  /** When back-off ends, or when it was set aside. */
  atMs: number;
}
interface HappenedEvent {
  readonly event: ClusterEvent;
  readonly oldObject: unknown;
  readonly newObject: unknown;
}

/** Creates the queue. */
export function createSchedulingQueue(deps: QueueDeps, config: QueueConfig): SchedulingQueue {
  return new Queue(deps, config);
}

/** Tells by name which of the plugins want which events. */
export function eventTest(plugins: readonly SchedulerPlugin[]): QueueDeps['wants'] {
  const wanted = new Set(plugins.flatMap(({ name, events = [] }) => events.map(({ event }) => `${name} ${event}`)));
  return (plugin, event) => wanted.has(`${plugin} ${event}`);
}

const uidOf = (pod: Pod): string => pod.metadata.uid ?? '';

class Queue implements SchedulingQueue {
  readonly #deps: QueueDeps;
  readonly #config: QueueConfig;
  readonly #active: Heap<Entry>;
  readonly #backoff: Heap<Entry>;
  readonly #unschedulable = new UnschedulablePods<Entry>();
  readonly #gated = new Map<string, Entry>();
  /** In flight: events since the pod was popped. */
  readonly #inFlight = new Map<string, { entry: Entry; events: HappenedEvent[]; latest: Pod | undefined }>();
  #ready: () => void = () => undefined;
  #cancelBackoff: () => void = () => undefined;
  readonly #cancelFlush: () => void;

  constructor(deps: QueueDeps, config: QueueConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#active = new Heap(
      (e) => uidOf(e.pod),
      (a, b) => deps.less(a, b) < 0,
    );
    this.#backoff = new Heap(
      (e) => uidOf(e.pod),
      (a, b) => a.atMs < b.atMs,
    );
    this.#cancelFlush = deps.clock.setTicker(30_000, () => this.#flushOld());
  }

  add(pod: Pod): void {
    const uid = uidOf(pod);
    if (this.#find(uid) !== undefined || this.#inFlight.has(uid)) return this.update(undefined, pod);
    const queuedAtMs = this.#deps.clock.monotonicMs();
    this.#enqueue({ pod, attempts: 0, queuedAtMs, rejectedBy: new Set(), atMs: 0 }, 'UnschedulablePodAdd');
  }

  update(old: Pod | undefined, pod: Pod): void {
    const uid = uidOf(pod);
    const flying = this.#inFlight.get(uid);
    if (flying !== undefined) {
      flying.latest = pod;
      flying.events.push({ event: 'pod/update', oldObject: old, newObject: pod });
      return;
    }
    const entry = this.#find(uid);
    if (entry === undefined) return this.add(pod);
    const waiting = this.#unschedulable.get(uid) !== undefined || this.#gated.has(uid);
    this.#drop(uid);
    entry.pod = pod;
    const label = eventLabel('pod/update');
    if (!waiting) return this.#enqueue(entry, label);
    const gated = entry.rejectedBy.size === 0;
    if (gated || this.#helps(entry, { event: 'pod/update', oldObject: old, newObject: pod }))
      this.#enqueue(entry, label);
    else this.#unschedulable.set(uid, entry);
  }

  remove(uid: string): void {
    this.#drop(uid);
    this.#inFlight.delete(uid);
  }

  pop(): QueuedPod | undefined {
    const entry = this.#active.pop();
    if (entry === undefined) return undefined;
    entry.attempts++;
    this.#inFlight.set(uidOf(entry.pod), { entry, events: [], latest: undefined });
    return entry;
  }

  done(uid: string): void {
    this.#inFlight.delete(uid);
  }

  requeue(queued: QueuedPod, rejectedBy: ReadonlySet<string>): void {
    const uid = uidOf(queued.pod);
    const flying = this.#inFlight.get(uid);
    if (flying === undefined) return; // Deleted meanwhile.
    this.#inFlight.delete(uid);
    const { entry, events, latest } = flying;
    entry.pod = latest ?? queued.pod;
    entry.rejectedBy = rejectedBy;
    if (rejectedBy.size === 0 || events.some((e) => this.#helps(entry, e))) return this.#toBackoff(entry, FAILURE);
    entry.atMs = this.#deps.clock.monotonicMs();
    this.#unschedulable.set(uid, entry);
    this.#deps.incoming?.(FAILURE, 'unschedulable');
  }

  activate(uid: string): void {
    const entry = this.#unschedulable.get(uid) ?? this.#backoff.get(uid);
    if (entry === undefined) return;
    this.#drop(uid);
    this.#enqueue(entry, 'ForceActivate');
  }

  notify(event: ClusterEvent, oldObject?: unknown, newObject?: unknown): void {
    const happened: HappenedEvent = { event, oldObject, newObject };
    const leaving = event === 'assigned-pod/delete' ? (oldObject as Pod | undefined)?.metadata.uid : undefined;
    for (const [uid, flying] of this.#inFlight) if (uid !== leaving) flying.events.push(happened);
    for (const [plugin, entries] of this.#unschedulable.groups()) {
      if (!this.#deps.wants(plugin, event)) continue;
      for (const [uid, entry] of entries) {
        if (uid === leaving || !this.#helps(entry, happened)) continue;
        this.#unschedulable.delete(uid);
        this.#toBackoff(entry, eventLabel(event));
      }
    }
  }

  onReady(listener: () => void): void {
    this.#ready = listener;
  }

  counts(): { active: number; backoff: number; unschedulable: number; gated: number } {
    return {
      active: this.#active.size,
      backoff: this.#backoff.size,
      unschedulable: this.#unschedulable.size,
      gated: this.#gated.size,
    };
  }

  *rejected(): IterableIterator<Pick<Entry, 'pod' | 'rejectedBy'>> {
    for (const [, entry] of this.#unschedulable.entries()) yield entry;
    for (const { pod, rejectedBy } of this.#gated.values()) {
      const held = this.#deps.preEnqueue(pod);
      yield { pod, rejectedBy: held === undefined ? rejectedBy : new Set([...rejectedBy, held.plugin]) };
    }
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
      return { ...common, part: 'backoff', nextTryMs: Math.max(0, entry.atMs - nowMs) };
    if (this.#unschedulable.get(uid) !== undefined) return { ...common, part: 'unschedulable' };
    if (this.#gated.has(uid))
      return { ...common, part: 'gated', gate: this.#deps.preEnqueue(entry.pod)?.reasons.join(', ') ?? '' };
    return { ...common, part: this.#inFlight.has(uid) ? 'in-flight' : 'active' };
  }

  stop(): void {
    this.#cancelBackoff();
    this.#cancelFlush();
  }

  #find(uid: string): Entry | undefined {
    return this.#active.get(uid) ?? this.#backoff.get(uid) ?? this.#unschedulable.get(uid) ?? this.#gated.get(uid);
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
      this.#gated.set(uidOf(entry.pod), entry);
      this.#deps.incoming?.(event, 'gated');
      return;
    }
    this.#active.set(entry);
    this.#deps.incoming?.(event, 'active');
    this.#ready();
  }

  /** Back-off counts from the last try; a pod whose back-off is over is ready at once. */
  #toBackoff(entry: Entry, event: string): void {
    const { initialBackoffMs, maxBackoffMs } = this.#config;
    const delayMs = Math.min(initialBackoffMs * 2 ** Math.max(0, entry.attempts - 1), maxBackoffMs);
    entry.atMs = this.#deps.clock.monotonicMs() + delayMs;
    this.#backoff.set(entry);
    this.#deps.incoming?.(event, 'backoff');
    this.#armBackoff();
  }

  #armBackoff(): void {
    this.#cancelBackoff();
    const next = this.#backoff.peek();
    if (next === undefined) return;
    this.#cancelBackoff = this.#deps.clock.setTimer(Math.max(0, next.atMs - this.#deps.clock.monotonicMs()), () =>
      this.#backoffOver(),
    );
  }

  #backoffOver(): void {
    const now = this.#deps.clock.monotonicMs();
    for (let next = this.#backoff.peek(); next !== undefined && next.atMs <= now; next = this.#backoff.peek()) {
      this.#backoff.pop();
      this.#enqueue(next, 'BackoffComplete');
    }
    this.#armBackoff();
  }

  #helps(entry: Entry, { event, oldObject, newObject }: HappenedEvent): boolean {
    return this.#deps
      .pluginsOf(entry.pod)
      .some(
        (plugin) =>
          entry.rejectedBy.has(plugin.name) &&
          (plugin.events ?? []).some(
            (wanted) =>
              wanted.event === event && (wanted.hint === undefined || wanted.hint(entry.pod, oldObject, newObject)),
          ),
      );
  }

  #flushOld(): void {
    const before = this.#deps.clock.monotonicMs() - this.#config.maxUnschedulableMs;
    for (const [uid, entry] of this.#unschedulable.entries()) {
      if (entry.atMs > before) continue;
      this.#unschedulable.delete(uid);
      this.#toBackoff(entry, 'UnschedulableTimeout');
    }
  }
}
