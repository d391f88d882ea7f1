/**
 * Keeps volumes mounted for the pods that need them and takes them down with the pods. Upstream:
 * pkg/kubelet/volumemanager.
 *
 * Invariants: while a pod's volumes are taken down nothing of it is set up; until the disk has been looked through at start
 * every pod may have volumes. Differs: pods come in by `waitForAttachAndMount` and go by `waitForUnmount`; a slow sweep
 * catches those whose end was missed and those an earlier process left.
 */
import { onAbort } from '../../base/abort.ts';
import { createBackoff, KeyedBackoff } from '../../base/backoff.ts';
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import { errorMessage } from '../../base/errors.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { Client } from '../../client/client.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { GrpcConnector } from '../../grpc/grpc-connector.ts';
import type { Platform } from '../../platform/platform.ts';
import type { PluginManager } from '../plugin-manager/plugin-manager.ts';
import type { NodeFacts } from '../runtime/field-refs.ts';
import { createCsiPlugin } from './csi/create-csi-plugin.ts';
import { createFlexDrivers } from './flex-drivers.ts';
import { createMemoryVolumes } from './memory-volumes.ts';
import type { ObjectCache } from './object-cache.ts';
import { PodVolumes } from './pod-volumes.ts';
import { createServiceAccountTokens, type TokenRequester } from './service-account-tokens.ts';
import { exposeVolumeTotals } from './storage-metrics.ts';
import { createVolumeSetUp, VolumeSetUpError } from './volume-set-up.ts';
import type { VolumeManager } from './volume-manager-contract.ts';
import type { VolumeSettings } from './volume-plugin.ts';
import { createVolumePaths } from './volume-paths.ts';
import { podsWithVolumes, tearDownPodVolumes } from './volume-teardown.ts';
import { measureVolume } from './volume-usage.ts';
import { waitForPodVolumes } from './wait-for-volumes.ts';
import { background } from '../../platform/unexpected.ts';

export interface VolumeManagerDeps {
  readonly platform: Pick<
    Platform,
    'clock' | 'random' | 'crypto' | 'files' | 'mounter' | 'exec' | 'host' | 'log' | 'metrics'
  >;
  readonly client: Client;
  readonly objects: ObjectCache;
  readonly requestToken: TokenRequester;
  readonly recorder: KubeletEventRecorder;
  /** Pods whose volumes must stay: all that run or end, none that ended. */
  readonly podsLister: () => readonly Pod[];
  /** Whether `podsLister` knows the pods of every source; nothing is swept before. */
  readonly sourcesReady: () => boolean;
  readonly node: () => NodeFacts;
  /** The node's object as known now. */
  readonly ownNode: () => Node | undefined;
  /** Has the node's status told anew. */
  readonly nodeStatusChanged: () => void;
  /** Where CSI drivers register, and how they are called. */
  readonly plugins: Pick<PluginManager, 'addHandler'>;
  readonly connectGrpc: GrpcConnector;
}

/** Where the volumes lie. */
export interface VolumeManagerConfig {
  /** Upstream's --root-dir, `/var/lib/kubelet`. */
  readonly kubeletRoot: string;
  readonly nodeName: string;
  /** No controller attaches volumes to this node: the kubelet asks for it itself. */
  readonly attachesItself: boolean;
  readonly settings: VolumeSettings & { readonly pluginDir: string };
}

/** While something was missed, or may have been. */
const sweepPeriodMs = 5000;
/** While all volumes on disk belong to pods that are here. */
const idleSweepPeriodMs = 60_000;
const teardownTimeoutMs = 123_000;
/** Between tries to take down the volumes of one pod. Upstream: pkg/util/goroutinemap/exponentialbackoff. */
const teardownBackoff = { initialMs: 500, maxMs: 122_000 };

/** Makes the manager; nothing is read or mounted before `start` or the first pod. */
export function createVolumeManager(deps: VolumeManagerDeps, config: VolumeManagerConfig): VolumeManager {
  const { platform, objects, recorder } = deps;
  const { clock } = platform;
  const log = platform.log.child('volume-manager');
  const paths = createVolumePaths(config.kubeletRoot);
  const tokens = createServiceAccountTokens({ platform, requestToken: deps.requestToken });
  const csi = createCsiPlugin({ ...deps, tokens }, config);
  const plugins = {
    platform: { ...platform, random: platform.random.fork('volumes') },
    objects,
    tokens,
    node: deps.node,
    csi,
    client: deps.client,
    flexDrivers: createFlexDrivers(platform, config.settings.pluginDir),
    kubeletRoot: config.kubeletRoot,
    locks: new KeyedMutex(),
    settings: config.settings,
  };
  const setUp = createVolumeSetUp({
    client: deps.client,
    plugins,
    paths,
    measured: platform,
    ensureMemory: createMemoryVolumes(platform, paths),
  });
  const pods = new Map<string, PodVolumes>();
  /** Found on disk at start and not taken down yet. */
  const leftovers = new Set<string>();
  const teardowns = new Map<string, Promise<void>>();
  const failedSweeps = new KeyedBackoff(teardownBackoff);
  let missing = new Set<string>();
  let lookedThrough = false;
  let lifetime = new AbortController().signal;

  function failed(pod: Pod, error: unknown): void {
    const text = errorMessage(error);
    log.warn('Volume is not ready', {
      pod: `${pod.metadata.namespace}/${pod.metadata.name}`,
      podUID: pod.metadata.uid,
      err: error,
    });
    if (error instanceof VolumeSetUpError) recorder.event(pod, 'Warning', 'FailedMount', text);
  }

  function tearDown(uid: string): Promise<void> {
    let running = teardowns.get(uid);
    if (running === undefined) {
      running = tearDownNow(uid).finally(() => teardowns.delete(uid));
      teardowns.set(uid, running);
    }
    return running;
  }

  async function tearDownNow(uid: string): Promise<void> {
    const volumes = pods.get(uid);
    await volumes?.stop();
    if (volumes === undefined || volumes.size > 0 || leftovers.has(uid)) await tearDownPodVolumes(plugins, paths, uid);
    pods.delete(uid);
    leftovers.delete(uid);
    objects.unregisterPod(uid);
    tokens.forget(uid);
  }

  async function lookThroughDisk(): Promise<void> {
    await csi.start(lifetime);
    for (const uid of await podsWithVolumes(platform, paths)) if (!pods.has(uid)) leftovers.add(uid);
    lookedThrough = true;
    deps.nodeStatusChanged();
  }

  async function sweep(): Promise<void> {
    if (!lookedThrough) await lookThroughDisk();
    if (!deps.sourcesReady()) return;
    const wanted = new Set(deps.podsLister().map((pod) => pod.metadata.uid ?? ''));
    const gone = new Set([...pods.keys(), ...leftovers].filter((uid) => !wanted.has(uid)));
    // Seen missing twice: a pod on its way from its source to the list is not swept.
    const nowMs = clock.monotonicMs();
    const isDue = (uid: string): boolean => !failedSweeps.isInBackoffSinceUpdate(uid, nowMs);
    const sure = [...gone].filter((uid) => missing.has(uid) && !teardowns.has(uid) && isDue(uid));
    missing = gone;
    // A driver that hangs delays none of the others.
    for (const uid of sure) {
      tearDown(uid).then(
        () => failedSweeps.reset(uid),
        (error: unknown) => {
          failedSweeps.next(uid, clock.monotonicMs());
          log.error('Cannot take down the volumes of a pod that is gone', { podUID: uid, err: error });
        },
      );
    }
  }

  function startSweeping(signal: AbortSignal): void {
    let cancel = (): void => undefined;
    const run = async (): Promise<void> => {
      let clean = false;
      try {
        await sweep();
        clean = lookedThrough && deps.sourcesReady() && missing.size === 0;
      } catch (error) {
        log.error("Cannot look through the pods' directories", { err: error });
      }
      if (!signal.aborted)
        cancel = clock.setTimer(clean ? idleSweepPeriodMs : sweepPeriodMs, () =>
          background(log, 'volumes could not be reconciled', run()),
        );
    };
    onAbort(signal, () => cancel());
    background(log, 'volumes could not be reconciled', run());
  }

  function volumesOf(pod: Pod): PodVolumes {
    const uid = pod.metadata.uid ?? '';
    objects.registerPod(pod);
    let volumes = pods.get(uid);
    if (volumes === undefined || volumes.stopped) {
      volumes = new PodVolumes({ clock, log, failed, setUp }, pod);
      pods.set(uid, volumes);
    } else if (volumes.pod !== pod) {
      volumes.update(pod);
    }
    return volumes;
  }

  async function unmount(pod: Pod, signal: AbortSignal): Promise<void> {
    const uid = pod.metadata.uid ?? '';
    const deadlineMs = clock.monotonicMs() + teardownTimeoutMs;
    const backoff = createBackoff(teardownBackoff);
    for (;;) {
      try {
        return await tearDown(uid);
      } catch (error) {
        const text = errorMessage(error);
        log.warn('Cannot take down volumes', { podUID: uid, err: error });
        if (clock.monotonicMs() >= deadlineMs)
          throw new Error(`mounted volumes=[${[...(pods.get(uid)?.ready().keys() ?? [])].join(' ')}]: ${text}`, {
            cause: error,
          });
      }
      await clock.sleep(backoff.nextMs(), signal);
    }
  }

  return {
    start(signal) {
      lifetime = signal;
      exposeVolumeTotals(platform.metrics, () => [...pods.values()].flatMap((each) => each.plugins()), signal);
      const off = objects.onChange((reference) => {
        for (const volumes of pods.values()) volumes.objectChanged(reference);
      });
      onAbort(signal, off);
      startSweeping(signal);
    },
    async waitForAttachAndMount(pod, signal) {
      await teardowns.get(pod.metadata.uid ?? '');
      await waitForPodVolumes(clock, volumesOf(pod), signal);
    },
    waitForUnmount: unmount,
    mountedVolumes: (podUid) => pods.get(podUid)?.mounted() ?? new Map(),
    podHasVolumes: (podUid) =>
      !lookedThrough || leftovers.has(podUid) || teardowns.has(podUid) || (pods.get(podUid)?.size ?? 0) > 0,
    volumesInUse: () => (lookedThrough ? [...csi.inUse()].sort() : undefined),
    async volumeStats(podUid) {
      const stats = new Map<string, Awaited<ReturnType<typeof measureVolume>>>();
      for (const [name, { content, usage }] of pods.get(podUid)?.ready() ?? []) {
        const told = usage?.();
        if (told !== undefined) stats.set(name, told);
        if (content !== undefined) stats.set(name, await measureVolume(platform, content.path, content.large));
      }
      return stats;
    },
  };
}
