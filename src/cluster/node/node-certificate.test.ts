import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInProcessClient } from '../../client/in-process-transport.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createNodeCertificate } from './node-certificate.ts';

test('what the node asks for in vain is counted, and what it has bears the time it lasts, until it is stopped', async () => {
  const platform = createSimPlatform();
  const { clock, metrics } = platform;
  const client = createInProcessClient({
    handler: () => Promise.reject(new Error('the server is away')),
    clock,
    principal: { name: 'system:node:n', groups: [] },
    userAgent: 'kubelet',
  });
  const manager = createNodeCertificate(platform, { kind: 'kubelet-client', nodeName: 'n', dir: '/pki' }, () => client);
  const stop = new AbortController();
  const ensured = manager.ensure(stop.signal).catch(() => undefined);
  const errors = (): number => metrics.value('kubelet_certificate_manager_client_expiration_renew_errors') ?? 0;
  await clock.runUntil(() => errors() >= 2, 600_000);
  await metrics.expose();
  assert.equal(metrics.value('kubelet_certificate_manager_client_ttl_seconds'), Infinity);
  stop.abort(new Error('enough'));
  await clock.drive(ensured);
  await metrics.expose();
  assert.equal(metrics.value('kubelet_certificate_manager_client_ttl_seconds'), undefined);
});
