import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countSteps } from '../../base/count-steps-fixture.ts';
import { image } from '../../cri/sim/sim-image.ts';
import { createRuntimeFixture, podOf } from './runtime-fixture.ts';

test('the work of restarting the containers of a pod grows as their number', async () => {
  const stepsOf = async (count: number): Promise<number> => {
    const fixture = createRuntimeFixture({ images: [image('web:1', { exits: { code: 3, after: '1s' } })] });
    const containers = Array.from({ length: count }, (_, at) => ({ name: `c${at}`, image: 'web:1' }));
    const pod = podOf({ containers });
    await fixture.sync(pod);
    await fixture.platform.clock.advance(1000);
    const steps = await countSteps('/kubelet/runtime/apply-pod-actions.ts', () => fixture.sync(pod));
    const restarted = (await fixture.status(pod)).containers.filter(({ restartCount }) => restartCount === 1);
    assert.equal(restarted.length, count);
    return steps;
  };
  const [few, more] = [await stepsOf(100), await stepsOf(400)];
  assert.ok(few > 100, `${few} steps`);
  assert.ok(more < 5 * few, `${few} steps for 100, ${more} for 400`);
});
