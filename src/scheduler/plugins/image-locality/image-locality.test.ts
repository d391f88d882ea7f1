/** Worked examples: an image counts by its size and by the share of nodes that have it, from 23 to 1,000 MiB for each image. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, PodSpec } from '../../../api/gen/core-v1.ts';
import { stored } from '../../../api/stored-fixture.ts';
import type { Stored } from '../../../api/object.ts';
import { createSchedulerCache } from '../../cache/scheduler-cache.ts';
import { testNode, testPod } from '../../scheduler-fixture.ts';
import { outcome } from '../scene-fixture.ts';
import { createImageLocality } from './image-locality.ts';

const MIB = 1024 * 1024;
const withImages = (name: string, images: Record<string, number>): Stored<Node> => {
  const node = testNode(name);
  const listed = Object.entries(images).map(([image, mib]) => ({ names: [image], sizeBytes: mib * MIB }));
  return stored({ ...node, status: { ...node.status, images: listed } });
};
const nodes = [
  withImages('a', { 'app:v1': 500, 'reg:5000/app:latest': 500, 'huge:v1': 9000, 'tiny:v1': 20 }),
  withImages('b', { 'app:v1': 500, 'huge:v1': 9000 }),
  withImages('c', { 'huge:v1': 9000 }),
  withImages('d', { 'huge:v1': 9000, 'data@sha256:1': 1000 }),
];
const of = (...images: string[]): Partial<PodSpec> => ({
  containers: images.map((image) => ({ name: image, image })),
});

const cases: [what: string, spec: Partial<PodSpec>, scores: number[] | undefined][] = [
  ['an image that half of the nodes have: 250 MiB', of('app:v1'), [23, 23, 0, 0]],
  ['a registry with a port, and no tag: 125 MiB', of('reg:5000/app'), [10, 0, 0, 0]],
  ['more than counts', of('huge:v1'), [100, 100, 100, 100]],
  ['less than counts', of('tiny:v1'), [0, 0, 0, 0]],
  ['of two images one: 250 of 2,000 MiB', of('app:v1', 'none'), [11, 11, 0, 0]],
  ['an init container counts, too', { ...of('none'), initContainers: of('app:v1').containers! }, [11, 11, 0, 0]],
  [
    'an image volume counts, too: 250 of 2,000 MiB',
    { ...of('none'), volumes: [{ name: 'v', image: { reference: 'data@sha256:1' } }] },
    [0, 0, 0, 11],
  ],
  ['what nobody has makes no difference', of('none'), undefined],
];
for (const [what, spec, expected] of cases)
  test(what, () => {
    const cache = createSchedulerCache();
    for (const node of nodes) cache.addNode(node);
    const [plugin, snapshot, state] = [createImageLocality(), cache.snapshot(), new Map<string, unknown>()];
    const pod = testPod('p', { spec });
    const status = plugin.preScore?.(state, pod, { nodes: snapshot.nodes, snapshot });
    if (expected === undefined) return assert.equal(status?.code, 'skip');
    assert.deepEqual(
      nodes.map(({ metadata }) => plugin.score?.(state, pod, snapshot.byName(metadata.name)!)),
      expected,
    );
  });

test('the node that holds the image', () => {
  const holding = testNode('b');
  const image = { names: ['registry/app:latest'], sizeBytes: 900 * 1024 * 1024 };
  assert.equal(
    outcome({
      nodes: [testNode('a'), { ...holding, status: { ...holding.status, images: [image] } }],
      pod: testPod('p', { spec: { containers: [{ name: 'c', image: 'registry/app' }] } }),
    }),
    'b',
  );
});
