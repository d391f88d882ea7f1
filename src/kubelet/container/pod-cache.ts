/**
 * The newest runtime status of each pod, with an order of observations. Upstream: pkg/kubelet/container/cache.go.
 *
 * Every observation takes a stamp before it asks the runtime (`beginObservation`); a sync remembers the stamp at its end
 * (`now`). `getNewerThan(uid, stamp)` waits for an observation that began after that, so a worker never acts on what was
 * seen before its own last actions. Upstream compares wall times for this; a counter cannot be fooled by clocks and works
 * when virtual time stands still. A waiter asks for an inspection at once instead of waiting for the next relist.
 */
import { onAbort } from '../../base/abort.ts';
import type { PodStatus } from './runtime.ts';

/** Identity needed to inspect a pod. */
export interface PodIdentity {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
}

/** Orders observations against syncs. Larger is later. */
export type ObservationStamp = number;

interface Entry {
  readonly status: PodStatus;
  readonly error: Error | undefined;
  readonly stamp: ObservationStamp;
}

interface Waiter {
  readonly minStamp: ObservationStamp;
  resolve(status: PodStatus): void;
  reject(error: unknown): void;
}

export interface PodCache {
  /** Stamp of now: an observation counts as newer only when it begins later. */
  now(): ObservationStamp;
  /** Takes the stamp of an observation; call before asking the runtime. */
  beginObservation(): ObservationStamp;
  /** Newest status; an empty one when the runtime knows nothing of the pod. Throws the error of the last inspection. */
  get(pod: PodIdentity): PodStatus;
  /** The stored status without errors or defaults, for display. */
  peek(uid: string): PodStatus | undefined;
  /** Resolves with a status observed after `minStamp`; rejects with the inspection's error or when aborted. */
  getNewerThan(pod: PodIdentity, minStamp: ObservationStamp, signal?: AbortSignal): Promise<PodStatus>;
  /** Stores the result of an inspection unless a newer one is stored; false when it was outdated. */
  set(uid: string, outcome: { status: PodStatus; error?: Error; stamp: ObservationStamp }): boolean;
  /** Forgets a pod that the runtime no longer knows, as observed at `stamp`. */
  delete(uid: string, stamp: ObservationStamp): void;
  /** Forgets pods that a listing at `stamp` did not contain: their last container was removed before. */
  keepOnly(listed: { has(uid: string): boolean }, stamp: ObservationStamp): void;
  /** Marks all entries, and all absences, as observed at `stamp`: a relist has seen everything. */
  updateTime(stamp: ObservationStamp): void;
  /** Called with each pod that someone waits for; the PLEG sets it once. */
  onWait(inspect: (pod: PodIdentity) => void): void;
}

/** The status of a pod that the runtime does not know. */
export function emptyPodStatus(pod: PodIdentity): PodStatus {
  return {
    uid: pod.uid,
    name: pod.name,
    namespace: pod.namespace,
    ips: [],
    containers: [],
    sandboxes: [],
  };
}

export function createPodCache(): PodCache {
  const entries = new Map<string, Entry>();
  const waiters = new Map<string, { pod: PodIdentity; list: Set<Waiter> }>();
  let counter = 1;
  let globalStamp = 0;
  let inspect: (pod: PodIdentity) => void = () => undefined;

  function newerThan(pod: PodIdentity, minStamp: ObservationStamp): Entry | undefined {
    const entry = entries.get(pod.uid);
    if (entry === undefined) {
      return globalStamp > minStamp ? { status: emptyPodStatus(pod), error: undefined, stamp: globalStamp } : undefined;
    }
    return entry.stamp > minStamp || globalStamp > minStamp ? entry : undefined;
  }

  function wake(uid: string): void {
    const waiting = waiters.get(uid);
    if (waiting === undefined) return;
    for (const waiter of [...waiting.list]) {
      const entry = newerThan(waiting.pod, waiter.minStamp);
      if (entry === undefined) continue;
      waiting.list.delete(waiter);
      if (entry.error !== undefined) waiter.reject(entry.error);
      else waiter.resolve(entry.status);
    }
    if (waiting.list.size === 0) waiters.delete(uid);
    else inspect(waiting.pod);
  }

  function wait(pod: PodIdentity, minStamp: ObservationStamp, signal: AbortSignal | undefined): Promise<PodStatus> {
    return new Promise((resolve, reject) => {
      const waiting = waiters.get(pod.uid) ?? { pod, list: new Set<Waiter>() };
      waiters.set(pod.uid, waiting);
      const leave = (): void => {
        waiting.list.delete(waiter);
        if (waiting.list.size === 0 && waiters.get(pod.uid) === waiting) waiters.delete(pod.uid);
        reject(signal?.reason);
      };
      const done = onAbort(signal, leave);
      const waiter: Waiter = {
        minStamp,
        resolve: (status) => {
          done();
          resolve(status);
        },
        reject: (error) => {
          done();
          reject(error);
        },
      };
      waiting.list.add(waiter);
      inspect(pod);
    });
  }

  return {
    now: () => counter,
    beginObservation: () => ++counter,
    get(pod) {
      const entry = entries.get(pod.uid);
      if (entry?.error !== undefined) throw entry.error;
      return entry?.status ?? emptyPodStatus(pod);
    },
    peek: (uid) => entries.get(uid)?.status,
    getNewerThan(pod, minStamp, signal) {
      if (signal?.aborted === true) return Promise.reject(signal.reason);
      const entry = newerThan(pod, minStamp);
      // An error goes only to the callers that waited for it; a later caller causes a new inspection.
      return entry === undefined || entry.error !== undefined
        ? wait(pod, minStamp, signal)
        : Promise.resolve(entry.status);
    },
    set(uid, outcome) {
      const cached = entries.get(uid);
      if (cached !== undefined && cached.stamp > outcome.stamp) return false;
      entries.set(uid, { status: outcome.status, error: outcome.error, stamp: outcome.stamp });
      wake(uid);
      return true;
    },
    delete(uid, stamp) {
      const cached = entries.get(uid);
      if (cached !== undefined && cached.stamp <= stamp) entries.delete(uid);
    },
    keepOnly(listed, stamp) {
      for (const [uid, entry] of entries) if (entry.stamp <= stamp && !listed.has(uid)) entries.delete(uid);
    },
    updateTime(stamp) {
      if (stamp <= globalStamp) return;
      globalStamp = stamp;
      for (const uid of [...waiters.keys()]) wake(uid);
    },
    onWait(handler) {
      inspect = handler;
    },
  };
}
