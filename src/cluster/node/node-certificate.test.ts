import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInProcessClient } from '../../client/in-process-transport.ts';
import { createAuthority } from '../../component-helpers/pki/certificates.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createNodeCertificate } from './node-certificate.ts';

test('failed requests of the node are counted, and its certificate has its remaining lifetime, until the stop', async () => {
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

test('the remaining lifetime of a certificate decreases, and is negative after its end', async () => {
  const platform = createSimPlatform();
  const { clock, metrics, crypto, random } = platform;
  const deps = { crypto, random, nowMs: () => clock.nowMs() };
  const given = await clock.drive(createAuthority(deps, 'system:node:n', 60_000));
  const config = { kind: 'kubelet-server', nodeName: 'n', dir: '/pki', configured: given } as const;
  const manager = createNodeCertificate(platform, config, () => assert.fail('nothing is asked for'));
  const stop = new AbortController();
  await clock.drive(manager.ensure(stop.signal));
  for (const seconds of [60, 10, -40]) {
    await metrics.expose();
    assert.equal(metrics.value('kubelet_certificate_manager_server_ttl_seconds'), seconds);
    await clock.advance(50_000);
  }
  stop.abort();
});
