/**
 * Which file systems a node has for images, writable layers and other data, and what follows for thresholds,
 * reclaiming and ranking. Pure. Upstream: KubeletSeparateDiskGC (KEP-4191), UpdateContainerFsThresholds,
 * buildSignalToRankFunc and buildSignalToNodeReclaimFuncs in pkg/kubelet/eviction/helpers.go.
 */
import { DEVICE, type FsStats, type NodeStats } from '../stats/summary-types.ts';
import type { DiskParts } from './pod-usage.ts';
import type { Signal, Threshold } from './thresholds.ts';

/**
 * `single`: one file system; `images`: a second one for images and writable layers; `split`: a second one for images
 * alone.
 */
export type DiskLayout = 'single' | 'images' | 'split';

const CONTAINERFS = 'containerfs.';

/** Compares devices where known, as two disks may be equally large, and sizes otherwise. */
function isSameFilesystem(a: FsStats | undefined, b: FsStats | undefined): boolean {
  if (a === undefined || b === undefined) return true;
  if (a[DEVICE] !== undefined && b[DEVICE] !== undefined) return a[DEVICE] === b[DEVICE];
  return a.capacityBytes === b.capacityBytes && a.inodes === b.inodes;
}

/** The layout, by the devices of the file systems. Upstream: HasDedicatedImageFs. */
export function diskLayoutOf({ fs, runtime }: NodeStats): DiskLayout {
  const { imageFs, containerFs } = runtime ?? {};
  if (isSameFilesystem(fs, imageFs) && isSameFilesystem(fs, containerFs)) return 'single';
  return isSameFilesystem(imageFs, containerFs) ? 'images' : 'split';
}

/**
 * Gives the signals of writable layers the thresholds of the file system they are on, since they cannot be
 * configured.
 */
export function withContainerFs(thresholds: readonly Threshold[], layout: DiskLayout): Threshold[] {
  const follows = layout === 'images' ? 'imagefs.' : 'nodefs.';
  const others = thresholds.filter((threshold) => !isContainerFs(threshold));
  const copies = others
    .filter(({ signal }) => signal.startsWith(follows))
    .map((threshold) => ({ ...threshold, signal: threshold.signal.replace(follows, CONTAINERFS) as Signal }));
  return [...others, ...copies];
}

/** Whether the threshold is for writable layers, which cannot be configured. */
export function isContainerFs({ signal }: Threshold): boolean {
  return signal.startsWith(CONTAINERFS);
}

/** What is removed before pods are evicted, when a disk runs low. */
export interface Removals {
  readonly containers: boolean;
  readonly images: boolean;
}

/** What is removed to free the file system of the signal: unused containers, images. */
export function removalsFor(signal: Signal, layout: DiskLayout): Removals {
  if (layout === 'single') return { containers: true, images: true };
  if (layout === 'images') {
    const there = !signal.startsWith('nodefs.');
    return { containers: there, images: there };
  }
  const images = signal.startsWith('imagefs.');
  return { containers: !images, images };
}

/** The parts of a pod's disk usage that are on the file system of the signal. */
export function diskPartsOf(signal: Signal, layout: DiskLayout): DiskParts {
  if (layout === 'single') return { layers: true, logsAndVolumes: true };
  if (layout === 'images') {
    const node = signal.startsWith('nodefs.');
    return { layers: !node, logsAndVolumes: node };
  }
  const images = signal.startsWith('imagefs.');
  return { layers: !images, logsAndVolumes: !images };
}
