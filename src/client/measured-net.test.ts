import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HttpAnswer } from '../platform/net.ts';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { measuredNet } from './measured-net.ts';

test('calls are counted by status and timed; one without a response counts as an error', async () => {
  const { clock, metrics, net } = createSimPlatform();
  let answer: () => Promise<HttpAnswer> = async () => {
    await clock.sleep(700);
    return { status: 404, headers: {}, body: [], cancel: () => undefined } as never;
  };
  const measured = measuredNet({ ...net, http: () => answer() }, { clock, metrics });
  const call = { method: 'GET', url: 'https://10.0.0.1:6443/api/v1/pods?watch=1' };
  await clock.drive(measured.http(call));
  answer = () => Promise.reject(new Error('refused'));
  await assert.rejects(measured.http(call), /refused/);
  const host = '10.0.0.1:6443';
  assert.equal(metrics.value('rest_client_requests_total', { code: '404', method: 'GET', host }), 1);
  assert.equal(metrics.value('rest_client_requests_total', { code: '<error>', method: 'GET', host }), 1);
  assert.equal(metrics.value('rest_client_request_duration_seconds', { verb: 'GET', host }), 2);
  assert.equal(metrics.sum('rest_client_request_duration_seconds', { verb: 'GET', host }), 0.7);
});
