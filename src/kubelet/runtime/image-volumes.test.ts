import assert from 'node:assert/strict';
import { test } from 'node:test';
import { imageVolumeProblem } from './image-volumes.ts';

test('which runtimes can mount images', () => {
  for (const [name, version, problem] of [
    ['containerd', '1.6.20~ds1', 'containerd 1.6.20~ds1 does not support image volumes, containerd 2.1 or later does'],
    ['containerd', 'v2.0.5', 'containerd v2.0.5 does not support image volumes, containerd 2.1 or later does'],
    ['containerd', 'v2.1.0', undefined],
    ['cri-o', '1.30.2', 'cri-o 1.30.2 does not support image volumes, cri-o 1.31 or later does'],
    ['cri-o', '1.33.0', undefined],
    ['another', '0.1.0', undefined],
    ['containerd', 'unknown', undefined],
  ] as const)
    assert.equal(imageVolumeProblem(name, version), problem);
});
