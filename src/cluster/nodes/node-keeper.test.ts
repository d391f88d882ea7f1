import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { NodeKeeper } from './node-keeper.ts';

const MINUTE_MS = 60_000;

/** A node whose creation fails, or that ends as soon as it is created. */
function setUp(name = 'a') {
  const { clock, log } = createSimPlatform();
  const keeper = new NodeKeeper({ clock, log });
  const node = {
    name,
    alive: false,
    fails: true,
    madeMs: [] as number[],
    isAlive: async () => node.alive,
    make: async () => {
      node.madeMs.push(clock.monotonicMs());
      if (node.fails) throw new Error('no such device');
    },
  };
  const seconds = async (count: number): Promise<void> => {
    for (let second = 0; second < count; second++) {
      void keeper.check(node);
      await clock.advance(1000);
    }
  };
  return { clock, keeper, node, seconds };
}

describe('a node that cannot be made', () => {
  for (const fails of [true, false])
    it(`is tried ever more seldom, ${fails ? 'when that fails' : 'when it ends each time'}`, async () => {
      const { node, seconds } = setUp();
      node.fails = fails;
      await seconds(3600);
      const pauses = node.madeMs.slice(1).map((timeMs, at) => timeMs - node.madeMs[at]!);
      assert.deepEqual(pauses.slice(0, 6), [1000, 2000, 4000, 8000, 16_000, 32_000]);
      assert.ok(pauses.slice(6).every((pauseMs) => pauseMs === MINUTE_MS));
    });

  it('shows the reason, until it runs or a user starts or stops it', async () => {
    const { keeper, node, seconds } = setUp();
    await seconds(200);
    assert.equal(keeper.problem('a'), 'no such device');
    keeper.forget('a');
    assert.equal(keeper.problem('a'), undefined);
    const before = node.madeMs.length;
    await seconds(1);
    assert.equal(node.madeMs.length, before + 1);
    node.fails = false;
    await keeper.make(node);
    assert.equal(keeper.problem('a'), undefined);
  });

  it('is made again at once when it ends after it ran for long', async () => {
    const { node, seconds } = setUp();
    node.fails = false;
    await seconds(100);
    node.alive = true;
    await seconds(300);
    const before = node.madeMs.length;
    node.alive = false;
    await seconds(1);
    assert.equal(node.madeMs.length, before + 1);
  });

  it('that hangs is not tried twice at the same time', async () => {
    const { clock, keeper, node } = setUp();
    const hanging = { ...node, make: () => clock.sleep(MINUTE_MS).then(node.make) };
    const first = keeper.check(hanging);
    await keeper.check(hanging);
    await clock.advance(MINUTE_MS);
    await first;
    assert.equal(node.madeMs.length, 1);
  });
});
