/**
 * Frees disk space by removing unused images, least recently used first. Upstream: realImageGCManager
 * (GarbageCollect, detectImages) in pkg/kubelet/images/image_gc_manager.go.
 */
import type { EventTarget } from '../../client/event-recorder.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { CriImageService, CriRuntimeService, Image } from '../../cri/gen/cri-types.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Files } from '../../platform/files.ts';
import type { Log } from '../../platform/log.ts';
import { sandboxImageOf } from './sandbox-image.ts';

export interface ImageGcDeps {
  readonly runtime: CriRuntimeService;
  readonly images: CriImageService;
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly recorder: KubeletEventRecorder;
  /** The node, for events. */
  readonly nodeRef: EventTarget;
  /** Called after each pass with the remaining images and the time at which the pass began. */
  collected?(imageIds: readonly string[], beganMs: number): Promise<void>;
}

/** When to collect, and how much. */
export interface ImageGcConfig {
  /** Disk usage in percent at which collection starts. Default 85; 100: never. */
  readonly highThresholdPercent?: number;
  /** Disk usage in percent at which collection stops. Default 80. */
  readonly lowThresholdPercent?: number;
  /** Images younger than this are kept. Default 2 min. */
  readonly minAgeMs?: number;
  /** Unused time after which images are removed whatever the disk's usage; 0: never. */
  readonly maxAgeMs?: number;
}

export interface ImageGc {
  /** One pass. Rejects when not enough could be freed. */
  garbageCollect(): Promise<void>;
  /** Removes all unused images, for eviction. Resolves to the bytes freed. */
  deleteUnusedImages(): Promise<number>;
}

interface ImageRecord {
  readonly firstDetectedMs: number;
  lastUsedMs: number;
}

/** An image's age counts from when the collector first saw it. */
export function createImageGc(deps: ImageGcDeps, config: ImageGcConfig): ImageGc {
  const { runtime, images, clock, log, recorder, nodeRef } = deps;
  const { highThresholdPercent = 85, lowThresholdPercent = 80, minAgeMs = 120_000, maxAgeMs = 0 } = config;
  const seen = new Map<string, ImageRecord>();

  /** Unused images, the longest unused first; records what is in use now. */
  const detect = async (): Promise<Image[]> => {
    const nowMs = clock.monotonicMs();
    const [{ images: all }, { containers }, sandboxImage = ''] = await Promise.all([
      images.listImages({}),
      runtime.listContainers({}),
      sandboxImageOf(runtime),
    ]);
    const used = new Set(
      containers.flatMap((container) => [container.imageId, container.imageRef, container.image?.image ?? '']),
    ).add(sandboxImage);
    const isUsed = (image: Image): boolean =>
      [image.id, ...image.repoTags, ...image.repoDigests].some((name) => used.has(name));
    for (const id of seen.keys()) if (!all.some((image) => image.id === id)) seen.delete(id);
    for (const image of all) {
      const entry = seen.get(image.id) ?? { firstDetectedMs: nowMs, lastUsedMs: 0 };
      if (isUsed(image)) entry.lastUsedMs = nowMs;
      seen.set(image.id, entry);
    }
    const entryOf = (image: Image): ImageRecord => seen.get(image.id)!;
    return all
      .filter((image) => !image.pinned && !isUsed(image))
      .sort(
        (a, b) =>
          entryOf(a).lastUsedMs - entryOf(b).lastUsedMs || entryOf(a).firstDetectedMs - entryOf(b).firstDetectedMs,
      );
  };

  const remove = async (image: Image): Promise<number> => {
    await images.removeImage({ image: { image: image.id } });
    seen.delete(image.id);
    return image.size;
  };

  const free = async (wantedBytes: number, ageMs: number): Promise<number> => {
    let freed = 0;
    for (const image of await detect()) {
      if (freed >= wantedBytes) break;
      if (clock.monotonicMs() - seen.get(image.id)!.firstDetectedMs < ageMs) continue;
      try {
        freed += await remove(image);
      } catch (error) {
        log.warn('image cannot be removed', { image: image.id, err: error });
      }
    }
    return freed;
  };

  const removeAged = async (): Promise<void> => {
    if (maxAgeMs === 0) return;
    for (const image of await detect()) {
      const entry = seen.get(image.id)!;
      if (clock.monotonicMs() - Math.max(entry.lastUsedMs, entry.firstDetectedMs) > maxAgeMs) await remove(image);
    }
  };

  const collect = async (): Promise<void> => {
    await removeAged();
    const mountpoint = (await images.imageFsInfo({})).imageFilesystems[0]?.fsId?.mountpoint;
    if (mountpoint === undefined) throw new Error('the runtime tells no file system of images');
    const { totalBytes, availableBytes } = await deps.files.statFileSystem(mountpoint);
    if (totalBytes === 0) {
      recorder.event(nodeRef, 'Warning', 'InvalidDiskCapacity', 'invalid capacity 0 on image filesystem');
      throw new Error('invalid capacity 0 on image filesystem');
    }
    const usePercent = 100 - Math.floor((availableBytes * 100) / totalBytes);
    if (usePercent < highThresholdPercent) {
      await detect();
      return;
    }
    const wanted = Math.floor((totalBytes * (100 - lowThresholdPercent)) / 100) - availableBytes;
    const freed = await free(wanted, minAgeMs);
    if (freed < wanted) {
      const message = `Failed to garbage collect required amount of images. Attempted to free ${wanted} bytes, but only found ${freed} bytes eligible to free.`;
      recorder.event(nodeRef, 'Warning', 'FreeDiskSpaceFailed', message);
      throw new Error(message);
    }
  };

  /** Runs one pass, and reports the remaining images even if it fails. */
  const pass = async <T>(work: () => Promise<T>): Promise<T> => {
    const beganMs = clock.nowMs();
    try {
      return await work();
    } finally {
      if (deps.collected !== undefined) {
        const { images: left } = await images.listImages({});
        await deps.collected(
          left.map(({ id }) => id),
          beganMs,
        );
      }
    }
  };

  return {
    garbageCollect: () => pass(collect),
    deleteUnusedImages: () => pass(() => free(Number.POSITIVE_INFINITY, 0)),
  };
}
