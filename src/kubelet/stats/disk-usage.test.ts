import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createDiskUsage } from './disk-usage.ts';

const pod = (uid: string): Pod => ({ metadata: { uid } });

test('a volume whose measurement hangs delays neither callers nor other volumes', async () => {
  const { clock, files, log } = createSimPlatform();
  const hung = Promise.withResolvers<never>();
  const uses = new Map([['data', { usedBytes: 1, capacityBytes: 2, availableBytes: 1 } as never]]);
  let hangs = false;
  const volumes = { volumeStats: (uid: string) => (uid === 'bad' || hangs ? hung.promise : Promise.resolve(uses)) };
  const disk = createDiskUsage({ clock, files, log, volumes, volumePeriodMs: 60_000 });
  const startMs = clock.monotonicMs();
  const [bad, good] = [disk.volumes(pod('bad')), disk.volumes(pod('good'))];
  assert.equal(await clock.drive(bad), undefined);
  assert.equal(clock.monotonicMs() - startMs, 3000);
  await clock.drive(good);
  assert.equal(await clock.drive(disk.volumes(pod('good'))), uses, 'measured behind the one that hangs');
  hangs = true;
  await clock.advance(60_000);
  const laterMs = clock.monotonicMs();
  assert.equal(await clock.drive(disk.volumes(pod('good'))), uses, 'the last known');
  assert.equal(clock.monotonicMs(), laterMs);
  hung.reject(new Error('too late'));
  await clock.settle();
  assert.deepEqual(
    log.entries.map(({ message }) => message),
    ['Failed to calculate volume metrics', 'Failed to calculate volume metrics'],
  );
});
