import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMemoryMetrics } from '../platform/sim/metrics.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { createWorkQueue } from './workqueue.ts';

function setUp() {
  const clock = new VirtualClock();
  const metrics = createMemoryMetrics();
  return { clock, metrics, queue: createWorkQueue<string>({ name: 'q', clock, metrics }) };
}

describe('work queue', () => {
  it('holds a key once and in order', async () => {
    const { queue } = setUp();
    for (const key of ['a', 'b', 'a']) queue.add(key);
    assert.equal(queue.length(), 2);
    assert.deepEqual([await queue.get(), await queue.get()], ['a', 'b']);
  });

  it('returns a key that was added during its processing only after done', async () => {
    const { queue } = setUp();
    queue.add('a');
    await queue.get();
    queue.add('a');
    queue.add('b');
    assert.equal(queue.length(), 1);
    assert.equal(await queue.get(), 'b');
    queue.done('a');
    assert.equal(await queue.get(), 'a');
  });

  it('delays, and keeps the earlier of two times', async () => {
    const { queue, clock } = setUp();
    queue.addAfter('a', 5000);
    queue.addAfter('a', 1000);
    queue.addAfter('a', 9000);
    await clock.advance(999);
    assert.equal(queue.length(), 0);
    await clock.advance(1);
    assert.equal(queue.length(), 1);
    await clock.advance(20_000);
    assert.equal(queue.length(), 1);
  });

  it('doubles the delay of a failing key from 5 ms and starts over after forget', async () => {
    const { queue, clock } = setUp();
    const delays: number[] = [];
    for (let i = 0; i < 5; i++) {
      const from = clock.monotonicMs();
      queue.addRateLimited('a');
      await clock.drive(queue.get());
      delays.push(clock.monotonicMs() - from);
      queue.done('a');
    }
    assert.deepEqual(delays, [5, 10, 20, 40, 80]);
    assert.equal(queue.numRequeues('a'), 5);
    queue.forget('a');
    assert.equal(queue.numRequeues('a'), 0);
  });

  it('limits all keys together to 10 per second after a burst of 100', async () => {
    const { queue, clock } = setUp();
    for (let i = 0; i < 120; i++) queue.addRateLimited(`k${i}`);
    await clock.advance(50);
    assert.equal(queue.length(), 100);
    await clock.advance(1000);
    assert.equal(queue.length(), 110);
  });

  it('keeps its counters in the registry, and no state, after its shutdown', async () => {
    const { clock, metrics, queue } = setUp();
    queue.add('a');
    queue.add('b');
    await queue.get();
    assert.match(await metrics.expose(), /^workqueue_longest_running_processor_seconds\{name="q"\} 0$/m);
    queue.shutDown();
    queue.done('a');
    await queue.get();
    const after = await metrics.expose();
    assert.doesNotMatch(after, /^workqueue_(depth|unfinished_work_seconds|longest_running_processor_seconds)\{/m);
    assert.match(after, /^workqueue_adds_total\{name="q"\} 2$/m);
    const next = createWorkQueue<string>({ name: 'q', clock, metrics });
    next.add('c');
    assert.match(await metrics.expose(), /^workqueue_depth\{name="q"\} 1$/m);
    next.shutDown();
  });

  it('that is abandoned is not retained by the registry', async () => {
    const { metrics, clock } = setUp();
    let kept = 0;
    const counting = {
      ...metrics,
      beforeExpose: (refresh: () => void) => {
        kept++;
        const end = metrics.beforeExpose(refresh);
        return () => {
          kept--;
          end();
        };
      },
    };
    const queue = createWorkQueue<string>({ name: 'q', clock, metrics: counting });
    queue.add('a');
    assert.equal(kept, 0);
    await queue.get();
    assert.equal(kept, 1);
    queue.done('a');
    queue.shutDown();
    await queue.get();
    assert.equal(kept, 0);
  });

  it('drains on shutdown', async () => {
    const { queue, clock } = setUp();
    queue.add('a');
    await queue.get();
    queue.add('a');
    let drained = false;
    void queue.shutDownWithDrain().then(() => (drained = true));
    queue.add('late');
    queue.done('a');
    await clock.settle();
    assert.equal(drained, false);
    assert.equal(await queue.get(), 'a');
    queue.done('a');
    await clock.settle();
    assert.equal(drained, true);
    assert.equal(await queue.get(), undefined);
  });

  it('counts', async () => {
    const { queue, clock, metrics } = setUp();
    queue.add('a');
    await clock.advance(2000);
    await queue.get();
    await clock.advance(3000);
    queue.done('a');
    assert.equal(metrics.value('workqueue_adds_total', { name: 'q' }), 1);
    assert.equal(metrics.sum('workqueue_queue_duration_seconds', { name: 'q' }), 2);
    await metrics.expose();
    assert.equal(metrics.value('workqueue_unfinished_work_seconds', { name: 'q' }), 0);
    assert.equal(metrics.sum('workqueue_work_duration_seconds', { name: 'q' }), 3);
  });
});
