/** Calls of a rate-limited client begin at the rate, in order. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { HttpAnswer, Net } from '../platform/net.ts';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { rateLimitedNet } from './rate-limited-net.ts';

it('lets a burst through, then one call per interval', async () => {
  const { clock } = createSimPlatform();
  const begun: [string, number][] = [];
  const startMs = clock.monotonicMs();
  const net = {
    http: async ({ url }: { url: string }) => {
      begun.push([url, Math.round(clock.monotonicMs() - startMs)]);
      return {} as HttpAnswer;
    },
  } as unknown as Net;
  const limited = rateLimitedNet(net, clock, { perSecond: 10, burst: 2 });
  const calls = ['a', 'b', 'c', 'd'].map((url) => limited.http({ method: 'GET', url }));
  await clock.drive(Promise.all(calls));
  assert.deepEqual(begun, [
    ['a', 0],
    ['b', 0],
    ['c', 100],
    ['d', 200],
  ]);
  assert.equal(rateLimitedNet(net, clock, { perSecond: 0, burst: 1 }), net, 'no limit');
});
