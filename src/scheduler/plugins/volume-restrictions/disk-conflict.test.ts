import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, Volume } from '../../../api/gen/core-v1.ts';
import { stored } from '../../../api/stored-fixture.ts';
import { disksConflict } from './disk-conflict.ts';

const podWith = (...volumes: Omit<Volume, 'name'>[]) =>
  stored<Pod>({
    metadata: { name: 'p' },
    spec: { containers: [], volumes: volumes.map((volume, at) => ({ name: `v${at}`, ...volume })) },
  });

const gce = (pdName: string, readOnly?: boolean) => ({ gcePersistentDisk: { pdName, ...(readOnly && { readOnly }) } });
const aws = (volumeID: string, readOnly?: boolean) => ({
  awsElasticBlockStore: { volumeID, ...(readOnly && { readOnly }) },
});
const rbd = (monitors: string[], image: string, more: object = {}) => ({ rbd: { monitors, image, ...more } });

test('which disks two pods may not share', () => {
  const cases: [Omit<Volume, 'name'>[], Omit<Volume, 'name'>[], boolean][] = [
    [[], [gce('a')], false],
    [[gce('a')], [gce('a')], true],
    [[gce('a', true)], [gce('a', true)], false],
    [[gce('a', true)], [gce('a')], true],
    [[gce('a', true), gce('a')], [gce('a', true)], true],
    [[gce('a')], [gce('b')], false],
    [[aws('a', true)], [aws('a', true)], true],
    [[aws('a')], [gce('a')], false],
    [[rbd(['x', 'y'], 'i')], [rbd(['y', 'z'], 'i')], true],
    [[rbd(['x'], 'i')], [rbd(['y'], 'i')], false],
    [[rbd(['x'], 'i', { pool: 'rbd' })], [rbd(['x'], 'i')], true],
    [[rbd(['x'], 'i', { pool: 'other' })], [rbd(['x'], 'i')], false],
    [[rbd(['x'], 'i', { readOnly: true })], [rbd(['x'], 'i', { readOnly: true })], false],
  ];
  for (const [own, others, conflict] of cases) {
    assert.equal(disksConflict(podWith(...own), podWith(...others)), conflict, JSON.stringify([own, others]));
    assert.equal(disksConflict(podWith(...others), podWith(...own)), conflict);
  }
});

test('each volume of thousands is compared once, however many pods there are', () => {
  let reads = 0;
  const counted = (pod: number) => {
    const volumes = Array.from({ length: 2000 }, (_, at): Volume => ({
      name: `v${at}`,
      get rbd() {
        reads++;
        return { monitors: [`m${pod}-${at}`], image: `i${at}` };
      },
    }));
    return stored<Pod>({ metadata: { name: `p${pod}` }, spec: { containers: [], volumes } });
  };
  const pods = [1, 2, 3, 4].map(counted);
  for (const pod of pods) for (const other of pods) if (pod !== other) assert.equal(disksConflict(pod, other), false);
  assert.ok(reads >= 4 * 2000 && reads <= 4 * 2000 * 2, `${reads} volumes looked at`);
});
