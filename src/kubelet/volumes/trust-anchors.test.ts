import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeApi } from '../../client/fake-api-fixture.ts';
import { createInProcessClient } from '../../client/in-process-transport.ts';
import { ClusterTrustBundles } from '../../api/gen/resources.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { trustAnchors } from './trust-anchors.ts';

const pem = (text: string): string => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----`;

test('a bundle is read in the time of its length, however many certificates begin and never end', async () => {
  const api = createFakeApi(() => '2026-01-01T00:00:00Z', 1, [ClusterTrustBundles]);
  const principal = { name: 'system:node:n', groups: [] };
  const client = createInProcessClient({
    handler: api.handler,
    clock: new VirtualClock(),
    principal,
    userAgent: 'test',
  });
  const trustBundle = `${pem('b')}\nabout\n${pem('a')}${'-----BEGIN CERTIFICATE-----\n'.repeat(40_000)}`;
  api.seed(ClusterTrustBundles, { metadata: { name: 'anchors' }, spec: { trustBundle } });
  const startUs = process.cpuUsage().user;
  assert.equal(await trustAnchors(client, { name: 'anchors', path: 'ca.pem' }), `${pem('a')}\n${pem('b')}\n`);
  const tookMs = (process.cpuUsage().user - startUs) / 1000;
  assert.ok(tookMs < 1000, `${tookMs} ms`);
});
