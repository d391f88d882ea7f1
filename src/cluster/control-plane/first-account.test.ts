import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ObjectStore } from '../../apiserver/registry/object-store.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { whenPodsAreTaken } from './first-account.ts';

for (const [what, madeAfterMs, waitsMs] of [
  ['at once when the account is there', 0, 0],
  ['as long as the account takes', 1_000, 1_000],
  ['not for ever', Infinity, 20_000],
] as const)
  test(`waits ${what}`, async () => {
    const { clock } = createSimPlatform();
    const startMs = clock.monotonicMs();
    const elapsedMs = (): number => clock.monotonicMs() - startMs;
    const objects = {
      get: (_info: unknown, namespace: string, name: string) =>
        namespace === 'default' && name === 'default' && elapsedMs() >= madeAfterMs ? { metadata: {} } : undefined,
    } as unknown as Pick<ObjectStore, 'get'>;
    await clock.drive(whenPodsAreTaken({ objects, clock }, new AbortController().signal), Infinity);
    assert.equal(elapsedMs(), waitsMs);
  });

test('a stop ends the wait', async () => {
  const { clock } = createSimPlatform();
  const stop = new AbortController();
  const waiting = whenPodsAreTaken({ objects: { get: () => undefined }, clock }, stop.signal);
  stop.abort(new Error('stopping'));
  await assert.rejects(waiting, /stopping/);
});
