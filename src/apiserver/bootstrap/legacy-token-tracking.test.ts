import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMaps } from '../../api/gen/resources.ts';
import { startWithAll } from '../all-resources-fixture.ts';
import { ensureTokenTracking } from './legacy-token-tracking.ts';

const KEY = ['kube-system', 'kube-apiserver-legacy-service-account-token-tracking'] as const;
const DAY_MS = 86_400_000;

test('the first day of the tracking of tokens is written once, and again after its loss', async () => {
  const { storage, platform, server } = await startWithAll([], '');
  const { objects } = storage;
  const { clock } = platform;
  const told = async (day: number): Promise<unknown> => {
    await clock.drive(ensureTokenTracking(objects, day * DAY_MS));
    return objects.get(ConfigMaps, ...KEY)?.data;
  };
  assert.deepEqual(await told(1), { since: '1970-01-02' });
  assert.deepEqual(await told(2), { since: '1970-01-02' });
  await clock.drive(objects.guaranteedUpdate(ConfigMaps, ...KEY, (map) => ({ ...map, data: { since: 'soon' } })));
  assert.deepEqual(await told(3), { since: '1970-01-04' });
  await server.stop();
});
