import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { serveStatusz } from './serve-statusz.ts';

test('a component that runs alone reports its start time and its other paths', async () => {
  const clock = new VirtualClock();
  const serve = serveStatusz(clock, 'kube-scheduler', ['/metrics', '/healthz']);
  await clock.advance(5000);
  const answer = (accept: string): { status: number; text: string } => {
    const response = serve(accept);
    assert.ok(response.kind === 'bytes');
    return { status: response.status, text: Buffer.concat(response.chunks).toString() };
  };
  const { text } = answer('application/json;v=v1beta1;g=config.k8s.io;as=Statusz');
  const { metadata, uptimeSeconds, paths } = JSON.parse(text);
  assert.deepEqual([metadata.name, uptimeSeconds, paths], ['kube-scheduler', 5, ['/healthz', '/metrics', '/statusz']]);
  assert.deepEqual([answer('text/plain').status, answer('application/json').status], [200, 406]);
});
