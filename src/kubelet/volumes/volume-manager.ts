/**
 * Mounts the volumes of pods, keeps them up to date, and unmounts them when the pods end. Upstream:
 * pkg/kubelet/volumemanager. The volumes of each pod (pod-volumes.ts) take the place of its desired and actual state
 * of world.
 *
 * Invariants: no volume of a pod is set up while its volumes are torn down; until the volumes of earlier runs are
 * known, any pod may have volumes. Differs: pods are added by `waitForAttachAndMount` and removed by
 * `waitForUnmount`; a slow sweep tears down volumes of pods that called neither.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { formatTime } from '../../api/time.ts';
import { onAbort } from '../../base/abort.ts';
import { createBackoff, KeyedBackoff } from '../../base/backoff.ts';
import { errorMessage } from '../../base/errors.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { AwaitedVolume } from '../../api/pod-node-state.ts';
import type { Log } from '../../platform/log.ts';
import { background } from '../../platform/unexpected.ts';
import { podUid } from '../types/pod-update.ts';
import { createCsiPlugin } from './csi/create-csi-plugin.ts';
import type { CsiVolumes } from './csi/csi-volumes.ts';
import { createFlexDrivers } from './flex-drivers.ts';
import { createMemoryVolumes } from './memory-volumes.ts';
import { PodVolumes, type PodVolumesDeps } from './pod-volumes.ts';
import { createServiceAccountTokens, type ServiceAccountTokens } from './service-account-tokens.ts';
import { exposeVolumeTotals } from './storage-metrics.ts';
import type {
  MountedVolume,
  VolumeManager,
  VolumeManagerConfig,
  VolumeManagerDeps,
} from './volume-manager-contract.ts';
import { createVolumePaths, type VolumePaths } from './volume-paths.ts';
import type { VolumePluginDeps } from './volume-plugin.ts';
import { createVolumeSetUp, VolumeSetUpError } from './volume-set-up.ts';
import { podsWithVolumes, tearDownPodVolumes } from './volume-teardown.ts';
import { measureVolume } from './volume-usage.ts';
import { waitForPodVolumes } from './wait-for-volumes.ts';

/** The period of sweeps after a failure, or while pods are missing. */
const SWEEP_PERIOD_MS = 5000;
/** The period of sweeps while all volumes belong to listed pods. */
const IDLE_SWEEP_PERIOD_MS = 60_000;
const TEARDOWN_TIMEOUT_MS = 123_000;
/**
 * The back-off between attempts to tear down the volumes of one pod. Upstream:
 * pkg/util/goroutinemap/exponentialbackoff.
 */
const TEARDOWN_BACKOFF = { initialMs: 500, maxMs: 122_000 };

/** Nothing is read or mounted before `start` or the first pod. */
export function createVolumeManager(deps: VolumeManagerDeps, config: VolumeManagerConfig): VolumeManager {
  return new KubeletVolumeManager(deps, config);
}

class KubeletVolumeManager implements VolumeManager {
  readonly #deps: VolumeManagerDeps;
  readonly #log: Log;
  readonly #paths: VolumePaths;
  readonly #tokens: ServiceAccountTokens;
  readonly #csi: CsiVolumes;
  readonly #plugins: VolumePluginDeps;
  readonly #setUp: PodVolumesDeps['setUp'];
  readonly #pods = new Map<string, PodVolumes>();
  /** Uids whose volumes were found on disk at the start and are not torn down yet. */
  readonly #orphans = new Set<string>();
  readonly #teardowns = new Map<string, Promise<void>>();
  /** Since when pods wait until their volumes are torn down, with the last error. */
  readonly #leaving = new Map<string, Pick<AwaitedVolume, 'since' | 'error'>>();
  readonly #failedSweeps = new KeyedBackoff(TEARDOWN_BACKOFF);
  /** Pods that the last sweep did not find in `podsLister`. */
  #missing = new Set<string>();
  /** Whether the volumes of earlier runs are known. */
  #reconstructed = false;
  #lifetime = new AbortController().signal;

  constructor(deps: VolumeManagerDeps, config: VolumeManagerConfig) {
    this.#deps = deps;
    this.#log = deps.platform.log.child('volume-manager');
    this.#paths = createVolumePaths(config.kubeletRoot);
    this.#tokens = createServiceAccountTokens({ platform: deps.platform, requestToken: deps.requestToken });
    this.#csi = createCsiPlugin({ ...deps, tokens: this.#tokens }, config);
    this.#plugins = {
      platform: { ...deps.platform, random: deps.platform.random.fork('volumes') },
      objects: deps.objects,
      tokens: this.#tokens,
      node: deps.node,
      csi: this.#csi,
      client: deps.client,
      flexDrivers: createFlexDrivers(deps.platform, config.settings.pluginDir),
      kubeletRoot: config.kubeletRoot,
      locks: new KeyedMutex(),
      settings: config.settings,
    };
    this.#setUp = createVolumeSetUp({
      client: deps.client,
      plugins: this.#plugins,
      paths: this.#paths,
      measured: deps.platform,
      ensureMemory: createMemoryVolumes(deps.platform, this.#paths),
    });
  }

  async waitForUnmount(pod: Pod, signal: AbortSignal): Promise<void> {
    const uid = podUid(pod);
    const deadlineMs = this.#deps.platform.clock.monotonicMs() + TEARDOWN_TIMEOUT_MS;
    const backoff = createBackoff(TEARDOWN_BACKOFF);
    const since = this.#leaving.get(uid)?.since ?? formatTime(this.#deps.platform.clock.nowMs());
    this.#leaving.set(uid, { since });
    for (;;) {
      try {
        return await this.#tearDown(uid);
      } catch (error) {
        const text = errorMessage(error);
        this.#leaving.set(uid, { since, error: text });
        this.#log.warn('Cannot take down volumes', { podUID: uid, err: error });
        if (this.#deps.platform.clock.monotonicMs() >= deadlineMs)
          throw new Error(`mounted volumes=[${[...(this.#pods.get(uid)?.ready().keys() ?? [])].join(' ')}]: ${text}`, {
            cause: error,
          });
      }
      await this.#deps.platform.clock.sleep(backoff.nextMs(), signal);
    }
  }

  start(signal: AbortSignal): void {
    this.#lifetime = signal;
    exposeVolumeTotals(
      this.#deps.platform.metrics,
      () => [...this.#pods.values()].flatMap((each) => each.plugins()),
      signal,
    );
    const off = this.#deps.objects.onChange((reference) => {
      for (const volumes of this.#pods.values()) volumes.objectChanged(reference);
    });
    onAbort(signal, off);
    this.#startSweeping(signal);
  }

  async waitForAttachAndMount(pod: Pod, signal: AbortSignal): Promise<void> {
    await this.#teardowns.get(podUid(pod));
    await waitForPodVolumes(this.#deps.platform.clock, this.#volumesOf(pod), signal);
  }

  awaitedVolumes(uid: string): readonly AwaitedVolume[] {
    const volumes = this.#pods.get(uid);
    const leaving = this.#leaving.get(uid);
    if (leaving === undefined) return volumes?.awaited() ?? [];
    return [...(volumes?.ready().keys() ?? [])].map((name) => ({ name, waitsFor: 'unmount', ...leaving }));
  }

  mountedVolumes(uid: string): ReadonlyMap<string, MountedVolume> {
    return this.#pods.get(uid)?.mounted() ?? new Map();
  }

  podHasVolumes(uid: string): boolean {
    return (
      !this.#reconstructed || this.#orphans.has(uid) || this.#teardowns.has(uid) || (this.#pods.get(uid)?.size ?? 0) > 0
    );
  }

  volumesInUse(): readonly string[] | undefined {
    return this.#reconstructed ? [...this.#csi.inUse()].sort() : undefined;
  }

  async volumeStats(uid: string): ReturnType<VolumeManager['volumeStats']> {
    const stats = new Map<string, Awaited<ReturnType<typeof measureVolume>>>();
    for (const [name, { content, usage }] of this.#pods.get(uid)?.ready() ?? []) {
      const reported = usage?.();
      if (reported !== undefined) stats.set(name, reported);
      if (content !== undefined) stats.set(name, await measureVolume(this.#deps.platform, content.path, content.large));
    }
    return stats;
  }

  #recordFailure(pod: Pod, error: unknown): void {
    const text = errorMessage(error);
    this.#log.warn('Volume is not ready', {
      pod: `${pod.metadata.namespace}/${pod.metadata.name}`,
      podUID: pod.metadata.uid,
      err: error,
    });
    if (error instanceof VolumeSetUpError) this.#deps.recorder.event(pod, 'Warning', 'FailedMount', text);
  }

  #tearDown(uid: string): Promise<void> {
    let running = this.#teardowns.get(uid);
    if (running === undefined) {
      running = this.#tearDownNow(uid).finally(() => this.#teardowns.delete(uid));
      this.#teardowns.set(uid, running);
    }
    return running;
  }

  async #tearDownNow(uid: string): Promise<void> {
    const volumes = this.#pods.get(uid);
    await volumes?.stop();
    if (volumes === undefined || volumes.size > 0 || this.#orphans.has(uid))
      await tearDownPodVolumes(this.#plugins, this.#paths, uid);
    this.#pods.delete(uid);
    this.#orphans.delete(uid);
    this.#leaving.delete(uid);
    this.#deps.objects.unregisterPod(uid);
    this.#tokens.forget(uid);
  }

  async #reconstruct(): Promise<void> {
    await this.#csi.start(this.#lifetime);
    for (const uid of await podsWithVolumes(this.#deps.platform, this.#paths))
      if (!this.#pods.has(uid)) this.#orphans.add(uid);
    this.#reconstructed = true;
    this.#deps.nodeStatusChanged();
  }

  async #sweep(): Promise<void> {
    if (!this.#reconstructed) await this.#reconstruct();
    if (!this.#deps.sourcesReady()) return;
    const listed = new Set(this.#deps.podsLister().map((pod) => podUid(pod)));
    const gone = new Set([...this.#pods.keys(), ...this.#orphans].filter((uid) => !listed.has(uid)));
    // A pod must be missing twice, so that a pod that is not listed yet is not swept.
    const nowMs = this.#deps.platform.clock.monotonicMs();
    const isDue = (uid: string): boolean => !this.#failedSweeps.isInBackoffSinceUpdate(uid, nowMs);
    const due = [...gone].filter((uid) => this.#missing.has(uid) && !this.#teardowns.has(uid) && isDue(uid));
    this.#missing = gone;
    // In parallel, so that a hanging driver delays no other pod.
    for (const uid of due) {
      this.#tearDown(uid).then(
        () => this.#failedSweeps.reset(uid),
        (error: unknown) => {
          this.#failedSweeps.next(uid, this.#deps.platform.clock.monotonicMs());
          this.#log.error('Cannot take down the volumes of a pod that is gone', { podUID: uid, err: error });
        },
      );
    }
  }

  #startSweeping(signal: AbortSignal): void {
    let cancel = (): void => undefined;
    const run = async (): Promise<void> => {
      let clean = false;
      try {
        await this.#sweep();
        clean = this.#reconstructed && this.#deps.sourcesReady() && this.#missing.size === 0;
      } catch (error) {
        this.#log.error("Cannot look through the pods' directories", { err: error });
      }
      if (!signal.aborted)
        cancel = this.#deps.platform.clock.setTimer(clean ? IDLE_SWEEP_PERIOD_MS : SWEEP_PERIOD_MS, () =>
          background(this.#log, 'volumes could not be reconciled', run()),
        );
    };
    onAbort(signal, () => cancel());
    background(this.#log, 'volumes could not be reconciled', run());
  }

  #volumesOf(pod: Pod): PodVolumes {
    const uid = podUid(pod);
    this.#deps.objects.registerPod(pod);
    let volumes = this.#pods.get(uid);
    if (volumes === undefined || volumes.stopped) {
      volumes = new PodVolumes(
        {
          clock: this.#deps.platform.clock,
          log: this.#log,
          setUp: this.#setUp,
          failed: (...failure) => this.#recordFailure(...failure),
        },
        pod,
      );
      this.#pods.set(uid, volumes);
    } else if (volumes.pod !== pod) {
      volumes.update(pod);
    }
    return volumes;
  }
}
