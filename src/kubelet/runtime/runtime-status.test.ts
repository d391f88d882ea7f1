import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRuntimeFixture } from './runtime-fixture.ts';

test('the status of the runtime is read each time, its version every ten seconds', async () => {
  const { cri, runtime, platform } = createRuntimeFixture();
  let runtimeVersion = '2.1.0';
  let asked = 0;
  const version = () => Promise.resolve({ runtimeName: 'containerd', runtimeVersion, asked: ++asked });
  Object.assign(cri.runtime, { version });
  const seen = async () => (await runtime.status()).runtimeVersion;
  assert.deepEqual([await seen(), await seen(), await seen()], ['2.1.0', '2.1.0', '2.1.0']);
  assert.deepEqual([cri.calls.get('status'), asked], [3, 1]);

  // Replaced between two status calls, so no failure was seen.
  runtimeVersion = '2.2.0';
  await platform.clock.advance(9_999);
  assert.equal(await seen(), '2.1.0');
  await platform.clock.advance(1);
  assert.equal(await seen(), '2.2.0');
});
