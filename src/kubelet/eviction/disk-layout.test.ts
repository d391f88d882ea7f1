/** One, two or three file systems: the thresholds that apply, the content that is removed, the use that counts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kubeletConfiguration } from '../kubelet-defaults.ts';
import { DEVICE, type NodeStats } from '../stats/summary-types.ts';
import { type DiskLayout, diskLayoutOf, diskPartsOf, removalsFor, withContainerFs } from './disk-layout.ts';
import { type Signal, thresholdsOf } from './thresholds.ts';

const node = (root: number, images?: number, containers?: number): NodeStats => {
  const fs = (capacityBytes: number) => ({ time: '', capacityBytes, inodes: 10 });
  const runtime = {
    ...(images === undefined ? {} : { imageFs: fs(images) }),
    ...(containers === undefined ? {} : { containerFs: fs(containers) }),
  };
  return { nodeName: 'n', startTime: '', fs: fs(root), ...(images === undefined ? {} : { runtime }) };
};

describe('file systems of a node', () => {
  it('are distinguished by their sizes where there is no device', () => {
    const cases: readonly [NodeStats, DiskLayout][] = [
      [node(1), 'single'],
      [node(1, 1, 1), 'single'],
      [node(1, 2), 'images'],
      [node(1, 2, 2), 'images'],
      [node(1, 2, 1), 'split'],
      [node(1, 2, 3), 'split'],
      [node(1, 1, 2), 'split'],
    ];
    for (const [stats, layout] of cases) assert.equal(diskLayoutOf(stats), layout);
  });

  it('are distinguished by their devices, also of equal size', () => {
    const on = (device: number) => ({ time: '', capacityBytes: 1, inodes: 10, [DEVICE]: device });
    const cases: readonly [number, number, number, DiskLayout][] = [
      [1, 1, 1, 'single'],
      [1, 2, 2, 'images'],
      [1, 2, 1, 'split'],
    ];
    for (const [root, images, containers, layout] of cases) {
      const runtime = { imageFs: on(images), containerFs: on(containers) };
      assert.equal(diskLayoutOf({ nodeName: 'n', startTime: '', fs: on(root), runtime }), layout);
    }
  });

  it('give writable layers the thresholds of where they lie, whatever is configured for them', () => {
    const configured = thresholdsOf(
      kubeletConfiguration({
        nodeName: 'n',
        rootDirectory: '/k',
        evictionHard: { 'nodefs.available': '10%', 'imagefs.available': '15%', 'containerfs.available': '99%' },
        eviction: {
          ...kubeletConfiguration({ nodeName: 'n', rootDirectory: '/k' }).eviction,
          soft: { 'nodefs.inodesFree': '5%', 'imagefs.inodesFree': '7%' },
          softGracePeriodMs: { 'nodefs.inodesFree': 1000, 'imagefs.inodesFree': 2000 },
          minimumReclaim: { 'nodefs.available': '1Gi' },
        },
      }),
    );
    const held = (layout: DiskLayout) =>
      withContainerFs(configured, layout)
        .filter(({ signal }) => signal.startsWith('containerfs'))
        .map(({ signal, value, hard, gracePeriodMs, minReclaim }) => [signal, value, hard, gracePeriodMs, minReclaim]);
    const byNode = [
      ['containerfs.available', { share: 0.1 }, true, 0, { units: 2 ** 30 }],
      ['containerfs.inodesFree', { share: 0.05 }, false, 1000, undefined],
    ];
    assert.deepEqual(held('single'), byNode);
    assert.deepEqual(held('split'), byNode);
    assert.deepEqual(held('images'), [
      ['containerfs.available', { share: 0.15 }, true, 0, undefined],
      ['containerfs.inodesFree', { share: 0.07 }, false, 2000, undefined],
    ]);
  });

  it('are reclaimed first by removing unused content, then by evicting the pods that use them', () => {
    // Unused containers, unused images; layers, logs and volumes.
    const cases: readonly [DiskLayout, Signal, readonly [boolean, boolean, boolean, boolean]][] = [
      ['single', 'nodefs.available', [true, true, true, true]],
      ['single', 'imagefs.inodesFree', [true, true, true, true]],
      ['images', 'nodefs.available', [false, false, false, true]],
      ['images', 'imagefs.available', [true, true, true, false]],
      ['images', 'containerfs.inodesFree', [true, true, true, false]],
      ['split', 'nodefs.inodesFree', [true, false, true, true]],
      ['split', 'containerfs.available', [true, false, true, true]],
      ['split', 'imagefs.available', [false, true, false, false]],
    ];
    for (const [layout, signal, expected] of cases) {
      const { containers, images } = removalsFor(signal, layout);
      const { layers, logsAndVolumes } = diskPartsOf(signal, layout);
      assert.deepEqual([containers, images, layers, logsAndVolumes], expected, `${layout} ${signal}`);
    }
  });
});
