/**
 * The scheduling queue: pods ready to be tried (by the profile's sort), pods in back-off, and pods that wait for an event
 * that could help them. An event wakes only the pods whose rejecting plugins asked for it. Events that arrive while a
 * pod is being tried are remembered until its verdict is in, so none is missed. Back-off lets others go first: where there
 * are none, pods that were rejected are tried before it ends; after an error it is waited out. Upstream: scheduler/backend/queue.
 */
import { Heap } from '../../base/heap.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Clock } from '../../platform/clock.ts';
import type { QueuedPod, SchedulerPlugin } from '../framework/plugin.ts';
import type { Status } from '../framework/status.ts';
import { BackoffPods } from './backoff-pods.ts';
import { UnschedulablePods } from './unschedulable-pods.ts';
import { eventLabel, type ClusterEvent } from './cluster-event.ts';

/** Upstream's defaults: 1 s doubling to 10 s; five minutes at most without a try. */
export interface QueueConfig {
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
  readonly maxUnschedulableMs: number;
}

export interface QueueDeps {
  readonly clock: Clock;
  readonly less: (a: QueuedPod, b: QueuedPod) => number;
  /** Who may hold a pod out altogether. */
  readonly preEnqueue: (pod: Stored<Pod>) => Status | undefined;
  /** Whose hints count for the pod. */
  readonly pluginsOf: (pod: Stored<Pod>) => readonly SchedulerPlugin[];
  /** Whether plugins of the name want such events at all. */
  readonly wants: (plugin: string, event: ClusterEvent) => boolean;
  /** Told of a plugin whose hint went wrong: its pods are tried then, as it may have been about to say so. */
  readonly hintFailed?: (plugin: string, error: unknown) => void;
  /** Told whenever a pod enters a part of the queue, with the event that brought it there. */
  readonly incoming?: (event: string, queue: QueuePart) => void;
}

/** The parts in which pods wait. */
export type QueuePart = 'active' | 'backoff' | 'unschedulable' | 'gated';

/** Where a pod is in the queue. */
export interface QueuePlace {
  readonly part: QueuePart | 'in-flight';
  readonly attempts: number;
  readonly waitingMs: number;
  readonly nextTryMs?: number;
  readonly rejectedBy: ReadonlySet<string>;
  /** Why it is held out. */
  readonly gate?: string;
}

export interface SchedulingQueue {
  add(pod: Stored<Pod>): void;
  /** A pod that is not bound has changed: it is tried again if the change may help. */
  update(old: Stored<Pod> | undefined, pod: Stored<Pod>): void;
  remove(uid: string): void;
  /**
   * The next pod to schedule; undefined when none is ready (wait for `onReady`). It is in flight until `done` or
   * `addUnschedulableIfNotPresent`.
   */
  pop(): QueuedPod | undefined;
  /** The pod is bound or gone. */
  done(uid: string): void;
  /** The pod could not be scheduled. `rejectedBy` names the plugins that rejected it; empty after an error. */
  addUnschedulableIfNotPresent(pod: QueuedPod, rejectedBy: ReadonlySet<string>): void;
  /** Moves a waiting pod to the active queue, without back-off. */
  activate(uid: string): void;
  /** Something happened in the cluster. That a pod leaves its node is no news to the pod itself: its binding has failed. */
  notify(event: ClusterEvent, oldObject?: unknown, newObject?: unknown): void;
  /** Called whenever `pop` may have something again. */
  onReady(listener: () => void): void;
  counts(): Readonly<Record<QueuePart, number>>;
  /** Pods that were rejected, until they are tried again, and those held out, with who holds them. */
  rejected(): Iterable<{ readonly pod: Stored<Pod>; readonly rejectedBy: ReadonlySet<string> }>;
  /** Undefined: not here. */
  place(uid: string): QueuePlace | undefined;
  stop(): void;
}

const FAILURE = 'ScheduleAttemptFailure';

interface Entry {
  pod: Stored<Pod>;
  attempts: number;
  readonly queuedAtMs: number;
  rejectedBy: ReadonlySet<string>;
  /** How often it was rejected, and how many errors there were since. */
  rejections: number;
  errors: number;
  /** When it was set aside. */
  setAsideAtMs: number;
  /** Not before, if others are there. */
  backoffEndsMs: number;
}

interface GatedEntry {
  readonly entry: Entry;
  /** Who holds it out: nobody else's events can open the gate. */
  readonly rejectedBy: ReadonlySet<string>;
  /** When it was last retried only because it had waited for so long, or else held out. */
  triedAtMs: number;
}

/** Pods whose back-off ends within one such span go by the profile's sort, at its end. */
const WINDOW_MS = 1000;

interface HappenedEvent {
  readonly event: ClusterEvent;
  readonly oldObject: unknown;
  readonly newObject: unknown;
}

export function createSchedulingQueue(deps: QueueDeps, config: QueueConfig): SchedulingQueue {
  return new Queue(deps, config);
}

/** Tells by name which of the plugins want which events. */
export function eventTest(plugins: readonly SchedulerPlugin[]): QueueDeps['wants'] {
  const wanted = new Set(plugins.flatMap(({ name, events = [] }) => events.map(({ event }) => `${name} ${event}`)));
  return (plugin, event) => wanted.has(`${plugin} ${event}`);
}

const uidOf = (pod: Stored<Pod>): string => pod.metadata.uid;

class Queue implements SchedulingQueue {
  readonly #deps: QueueDeps;
  readonly #config: QueueConfig;
  readonly #active: Heap<Entry>;
  readonly #backoff: BackoffPods<Entry>;
  readonly #unschedulable = new UnschedulablePods<Entry>();
  readonly #gated = new UnschedulablePods<GatedEntry>();
  /** In flight: events since the pod was popped. */
  readonly #inFlight = new Map<string, { entry: Entry; events: HappenedEvent[]; latest: Stored<Pod> | undefined }>();
  #ready: () => void = () => undefined;
  readonly #cancelFlush: () => void;

  constructor(deps: QueueDeps, config: QueueConfig) {
    this.#deps = deps;
    this.#config = config;
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
    this.#cancelFlush = deps.clock.setTicker(30_000, () => this.#flushOld());
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
    if (flying === undefined) return; // Deleted meanwhile.
    this.#inFlight.delete(uid);
    const { entry, events, latest } = flying;
    entry.pod = latest ?? queued.pod;
    entry.rejectedBy = rejectedBy;
    this.#setAside(entry);
    if (rejectedBy.size === 0) return this.#wake(entry, FAILURE);
    this.#unschedulable.set(uid, entry);
    if (!events.some((e) => this.#helps(entry, e))) return this.#deps.incoming?.(FAILURE, 'unschedulable');
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
    for (const [plugin, entries] of this.#unschedulable.groups()) {
      if (!this.#deps.wants(plugin, event)) continue;
      for (const [uid, entry] of entries) if (uid !== leaving) this.#wakeIfHelped(entry, happened);
    }
    for (const [gate, held] of this.#gated.groups()) {
      if (!this.#deps.wants(gate, event)) continue;
      for (const { entry, rejectedBy } of held.values())
        if (this.#helps({ pod: entry.pod, rejectedBy }, happened)) this.#tryGate(entry, eventLabel(event));
    }
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

  #wakeIfHelped(entry: Entry, happened: HappenedEvent): void {
    if (!this.#helps(entry, happened)) return;
    this.#unschedulable.delete(uidOf(entry.pod));
    this.#wake(entry, eventLabel(happened.event));
  }

  /** Lets it go unless it is held out still, be it by another. */
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

  /** An attempt came to nothing: the next is not due before back-off ends, which counts from now. */
  #setAside(entry: Entry): void {
    const { initialBackoffMs, maxBackoffMs } = this.#config;
    const isError = entry.rejectedBy.size === 0;
    if (!isError) entry.rejections++;
    entry.errors = isError ? entry.errors + 1 : 0;
    const times = isError ? entry.errors : entry.rejections;
    entry.setAsideAtMs = this.#deps.clock.monotonicMs();
    const endsMs = entry.setAsideAtMs + Math.min(initialBackoffMs * 2 ** (times - 1), maxBackoffMs);
    entry.backoffEndsMs = isError ? endsMs : Math.ceil(endsMs / WINDOW_MS) * WINDOW_MS;
  }

  /** It is worth another try: at once, if it has waited long enough. */
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

  #helps({ pod, rejectedBy }: Pick<Entry, 'pod' | 'rejectedBy'>, happened: HappenedEvent): boolean {
    return this.#deps
      .pluginsOf(pod)
      .some(
        (plugin) =>
          rejectedBy.has(plugin.name) &&
          (plugin.events ?? []).some(
            ({ event, hint }) =>
              event === happened.event &&
              (hint === undefined || this.#hints(plugin.name, () => hint(pod, happened.oldObject, happened.newObject))),
          ),
      );
  }

  #hints(plugin: string, ask: () => boolean): boolean {
    try {
      return ask();
    } catch (error) {
      this.#deps.hintFailed?.(plugin, error);
      return true;
    }
  }

  /** No hint is so good that a pod would wait for it for ever, be it tried or held out. */
  #flushOld(): void {
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
