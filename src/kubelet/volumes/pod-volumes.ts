/**
 * The volumes of one pod: desired ones, ready ones, and the set-ups in progress. Upstream: DesiredStateOfWorld,
 * ActualStateOfWorld and the reconciler of pkg/kubelet/volumemanager, for one pod.
 *
 * Invariants: one task at a time works on a volume, and runs again if something changed meanwhile; a ready volume
 * stays ready while an update of it fails. Differs: no polling; work starts when the pod or an object changes, a
 * token expires or a back-off ends.
 */
import { deepEqual } from '../../base/equal.ts';
import type { Pod, Volume } from '../../api/gen/core-v1.ts';
import type { AwaitedVolume } from '../../api/pod-node-state.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { callEach } from '../../platform/unexpected.ts';
import { referenceKey, type ObjectReference } from './object-references.ts';
import type { MountedVolume } from './volume-manager-contract.ts';
import type { SetUpRequest } from './volume-plugin.ts';
import {
  awaitedOf,
  isRefused,
  isUnsettled,
  newVolumes,
  problemsOf,
  type ReadyVolume,
  type VolumeProblems,
  type WantedVolume,
} from './wanted-volumes.ts';

/** Volumes whose set-up begins in one turn of the event loop. */
const VOLUMES_PER_TURN = 100;

/** Receives the progress of a volume's set-up, and aborts it. */
export type SetUpProgress = Pick<SetUpRequest, 'signal' | 'attaching'> & {
  /** Called with the volume's plugin. */
  readonly resolved: (plugin: string) => void;
};

export interface PodVolumesDeps {
  readonly clock: Clock;
  readonly log: Log;
  setUp(pod: Pod, volume: Volume, progress: SetUpProgress): Promise<ReadyVolume>;
  /** Reports a failure in events and the log. */
  failed(pod: Pod, error: unknown): void;
}

/** State of one pod. */
export class PodVolumes {
  readonly #deps: PodVolumesDeps;
  /**
   * In order of arrival. An array, since most pods have one volume and a simulation may have tens of thousands of
   * pods.
   */
  #entries: readonly WantedVolume[] = [];
  #listeners: readonly (() => void)[] = [];
  #pod: Pod;
  readonly #ending = new AbortController();
  /**
   * The numbers of volumes that are not ready or being worked on, and of those that cannot be processed; waiters
   * check them after each change.
   */
  #unsettled = 0;
  #refused = 0;
  /** The cached result of `mounted`; undefined after a change. */
  #mounted: ReadonlyMap<string, MountedVolume> | undefined;

  constructor(deps: PodVolumesDeps, pod: Pod) {
    this.#deps = deps;
    this.#pod = pod;
    this.#addWanted(pod);
  }

  get pod(): Pod {
    return this.#pod;
  }

  get size(): number {
    return this.#entries.length;
  }

  /** Its volumes are being torn down. */
  get stopped(): boolean {
    return this.#ending.signal.aborted;
  }

  /** Takes over a newer version of the pod; retries volumes that could not be processed. */
  update(pod: Pod): void {
    const old = this.#pod;
    this.#pod = pod;
    const showsChange = !deepEqual(shownFields(old), shownFields(pod));
    for (const entry of this.#entries) {
      const refused = isRefused(entry);
      if (refused) this.#change(entry, () => delete entry.error);
      if (refused || (showsChange && entry.ready?.live === true)) this.#work(entry);
    }
    this.#addWanted(pod);
  }

  /** An object changed that volumes may depend on. */
  objectChanged(reference: ObjectReference): void {
    const key = referenceKey(reference);
    for (const entry of this.#entries) if (entry.references.includes(key)) this.#work(entry);
  }

  /** Volumes that are ready. */
  mounted(): ReadonlyMap<string, MountedVolume> {
    if (this.#mounted !== undefined) return this.#mounted;
    const mounted = new Map<string, MountedVolume>();
    for (const { volume, ready } of this.#entries) {
      if (ready === undefined) continue;
      const { name } = volume;
      const { hostPath, readOnly, selinuxRelabel, block = false } = ready;
      mounted.set(name, { name, hostPath, readOnly, selinuxRelabel, block });
    }
    this.#mounted = mounted;
    return mounted;
  }

  /** Ready volumes with further details. */
  ready(): ReadonlyMap<string, ReadyVolume> {
    return new Map(
      this.#entries.flatMap(({ volume, ready }) => (ready === undefined ? [] : [[volume.name, ready] as const])),
    );
  }

  /** Plugin name of each desired volume, and whether it is ready. */
  plugins(): readonly { readonly plugin: string; readonly ready: boolean }[] {
    return this.#entries.flatMap(({ plugin, ready }) =>
      plugin === undefined ? [] : [{ plugin, ready: ready !== undefined }],
    );
  }

  /** Whether all volumes are ready and up to date, or cannot be. */
  get settled(): boolean {
    return this.#unsettled === 0;
  }

  /** Whether a volume cannot be processed, so that waiting is useless. */
  get isRefused(): boolean {
    return this.#refused > 0;
  }

  problems(): VolumeProblems {
    return problemsOf(this.#entries);
  }

  /** Volumes that are not ready, and why. */
  awaited(): readonly AwaitedVolume[] {
    return awaitedOf(this.#entries);
  }

  /** Calls back after every change of state. */
  onChange(listener: () => void): () => void {
    this.#listeners = this.#listeners.concat(listener);
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== listener);
    };
  }

  /** Starts no more work; resolves when the current tasks have ended. */
  async stop(): Promise<void> {
    this.#ending.abort(new Error('the volumes of the pod are taken down'));
    for (const entry of this.#entries) entry.cancelTimer?.();
    while (this.#entries.some(({ working }) => working)) {
      await new Promise<void>((resolve) => {
        const off = this.onChange(() => {
          off();
          resolve();
        });
      });
    }
  }

  #addWanted(pod: Pod): void {
    const names = new Set(this.#entries.map(({ volume }) => volume.name));
    const added = newVolumes(pod, names, this.#deps.clock.nowMs());
    if (added.length === 0) return;
    this.#entries = this.#entries.concat(added);
    this.#unsettled += added.length;
    this.#workInTurns(added).catch((error: unknown) => this.#deps.failed(pod, error));
  }

  /** In turns, since a pod may have thousands of volumes. */
  async #workInTurns(entries: readonly WantedVolume[]): Promise<void> {
    for (const [index, entry] of entries.entries()) {
      if (index > 0 && index % VOLUMES_PER_TURN === 0) await this.#deps.clock.yield();
      this.#work(entry);
    }
  }

  /** Changes an entry and updates the counts. */
  #change(entry: WantedVolume, change: () => void): void {
    const [wasUnsettled, wasRefused] = [isUnsettled(entry), isRefused(entry)];
    change();
    this.#unsettled += Number(isUnsettled(entry)) - Number(wasUnsettled);
    this.#refused += Number(isRefused(entry)) - Number(wasRefused);
    this.#mounted = undefined;
  }

  #work(entry: WantedVolume): void {
    if (this.stopped) return;
    if (entry.working) entry.again = true;
    else this.#setUp(entry).catch((error: unknown) => this.#deps.failed(this.#pod, error));
  }

  async #setUp(entry: WantedVolume): Promise<void> {
    this.#change(entry, () => (entry.working = true));
    entry.cancelTimer?.();
    let retryMs: number | undefined;
    try {
      do {
        entry.again = false;
        retryMs = await this.#attempt(entry);
      } while (entry.again && !this.stopped);
    } finally {
      this.#change(entry, () => (entry.working = false));
    }
    if (retryMs !== undefined && !this.stopped)
      entry.cancelTimer = this.#deps.clock.setTimer(retryMs, () => this.#work(entry));
    callEach({ log: this.#deps.log, what: 'a waiter for volumes threw' }, this.#listeners);
  }

  /** Resolves to the delay until the volume must be set up again, in milliseconds. */
  async #attempt(entry: WantedVolume): Promise<number | undefined> {
    const pod = this.#pod;
    try {
      const ready = await this.#deps.setUp(pod, entry.volume, {
        signal: this.#ending.signal,
        attaching: (waiting) => {
          entry.attaching = waiting;
        },
        resolved: (plugin) => {
          entry.plugin = plugin;
        },
      });
      this.#change(entry, () => {
        entry.ready = ready;
        delete entry.error;
      });
      entry.backoff.reset();
      return ready.refreshAfterMs;
    } catch (error) {
      this.#change(entry, () => (entry.error = error));
      if (!entry.again && !this.stopped) this.#deps.failed(pod, error);
      return entry.backoff.nextMs();
    }
  }
}

/** The fields of a pod that its volumes may show. */
function shownFields(pod: Pod): object {
  const { labels = {}, annotations = {}, generation = 0 } = pod.metadata;
  return { labels, annotations, generation };
}
