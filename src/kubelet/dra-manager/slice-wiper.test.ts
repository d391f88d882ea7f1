/** ResourceSlices of a node whose drivers register and disconnect, through the whole kubelet. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResourceSlices } from '../../api/gen/resources.ts';
import { notFound } from '../../api/status-error.ts';
import { createKubeletFixture, type KubeletFixture } from '../fixtures/kubelet-fixture.ts';

const REGISTRY = '/var/lib/kubelet/plugins_registry/gpu.sock';
const ALL = ['gpu@node-1', 'gpu@node-2', 'nic@node-1'];

function publish({ cluster }: KubeletFixture): void {
  const pool = { name: 'p', generation: 1, resourceSliceCount: 1 };
  for (const name of ALL) {
    const [driver, nodeName] = name.split('@') as [string, string];
    cluster.put(ResourceSlices, { metadata: { name }, spec: { driver, nodeName, pool } });
  }
}

function plug({ platform, sockets }: KubeletFixture): void {
  const info = { type: 'DRAPlugin', name: 'gpu', endpoint: '/gpu.sock', supportedVersions: ['v1.DRAPlugin'] };
  sockets.serve(REGISTRY, { GetInfo: () => info, NotifyRegistrationStatus: () => ({}) });
  platform.files.makeSpecial(REGISTRY, 'socket');
}

/** Steps: the driver's plugin registers (`+`) or disconnects (`-`), requests fail or work again, or seconds pass. */
type Step = '+' | '-' | 'fail' | 'works' | 'not served' | number;

const cases: readonly [what: string, steps: readonly Step[], left: readonly string[]][] = [
  ['stay while the driver is there', ['+', 100], ALL],
  ['stay for a while without it', ['+', 1, '-', 29], ALL],
  ['go when it stays away', ['+', 1, '-', 31], ['gpu@node-2', 'nic@node-1']],
  ['stay when it returns in time', ['+', 1, '-', 29, '+', 100], ALL],
  ['have the whole delay again the next time', ['+', 1, '-', 20, '+', 1, '-', 20], ALL],
  ['go the next time too', ['+', 1, '-', 20, '+', 1, '-', 31], ['gpu@node-2', 'nic@node-1']],
  ['are gone when it returns too late', ['+', 1, '-', 31, '+', 10], ['gpu@node-2', 'nic@node-1']],
  ['go once the API server answers', ['+', 1, '-', 'fail', 60, 'works', 60], ['gpu@node-2', 'nic@node-1']],
  ['stay when it returns before that', ['+', 1, '-', 'fail', 60, '+', 1, 'works', 600], ALL],
  ['are tried once where there is no such resource', ['+', 1, '-', 'not served', 31, 'works', 600], ALL],
];
for (const [what, steps, left] of cases)
  test(`slices ${what}`, async () => {
    const fixture = createKubeletFixture();
    const { cluster, platform } = fixture;
    const key = 'deletecollection resourceslices';
    await fixture.start();
    await platform.clock.advance(1000);
    publish(fixture);
    for (const step of steps) {
      if (typeof step === 'number') await platform.clock.advance(step * 1000);
      else if (step === '+') plug(fixture);
      else if (step === '-') await platform.files.remove(REGISTRY);
      else if (step === 'works') cluster.failures.delete(key);
      else cluster.failures.set(key, step === 'fail' ? new Error('no') : notFound(ResourceSlices, ''));
    }
    assert.deepEqual(
      cluster.list(ResourceSlices).map(({ metadata }) => metadata.name),
      left,
    );
    await fixture.stop();
  });

test('slices of the node are deleted when its kubelet starts, as soon as the API server answers', async () => {
  const fixture = createKubeletFixture();
  publish(fixture);
  fixture.cluster.failures.set('deletecollection resourceslices', new Error('no'));
  await fixture.start();
  await fixture.platform.clock.advance(10_000);
  assert.equal(fixture.cluster.list(ResourceSlices).length, 3);
  fixture.cluster.failures.clear();
  await fixture.platform.clock.advance(10_000);
  assert.deepEqual(
    fixture.cluster.list(ResourceSlices).map(({ metadata }) => metadata.name),
    ['gpu@node-2'],
  );
  await fixture.stop();
});
