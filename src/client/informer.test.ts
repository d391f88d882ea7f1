import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Pods } from '../api/gen/resources.ts';
import { serviceUnavailable } from '../api/status-error.ts';
import type { Pod } from '../api/gen/core-v1.ts';
import type { Stored } from '../api/object.ts';
import { createMemoryLog } from '../platform/sim/log.ts';
import { createSeededRandom } from '../platform/sim/random.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { createInProcessClient } from './in-process-transport.ts';
import { createInformerFactory } from './informer-factory.ts';
import type { InformerHandler } from './informer.ts';
import { createFakeApi } from './fake-api-fixture.ts';

const pod = (name: string, nodeName = 'n1'): Pod => ({
  metadata: { namespace: 'default', name },
  spec: { containers: [], nodeName },
});

function setUp({ refusesInitialEvents = false } = {}) {
  const clock = new VirtualClock();
  const api = createFakeApi(() => '2026-01-01T00:00:00Z');
  api.refusesInitialEvents = refusesInitialEvents;
  const client = createInProcessClient({
    handler: api.handler,
    clock,
    principal: { name: 'a', groups: [] },
    userAgent: 'test',
  });
  const factory = createInformerFactory({ client, clock, random: createSeededRandom(1), log: createMemoryLog() });
  const stop = new AbortController();
  return { clock, api, factory, stop, start: () => (factory.start(stop.signal), clock.settle()) };
}

function recorder(): { seen: string[]; handler: InformerHandler<Pod> } {
  const seen: string[] = [];
  return {
    seen,
    handler: {
      onAdd: (object, initial) => seen.push(`add ${object.metadata.name}${initial ? ' initial' : ''}`),
      onUpdate: (old, object) =>
        seen.push(`update ${object.metadata.name} ${old.spec?.nodeName}>${object.spec?.nodeName}`),
      onDelete: (object, unknown) => seen.push(`delete ${object.metadata.name}${unknown ? ' unknown' : ''}`),
    },
  };
}

describe('informer', () => {
  it('delivers existing objects, then changes in order; late handlers get adds', async () => {
    const { api, factory, stop, start, clock } = setUp();
    api.seed(Pods, pod('a'));
    const informer = factory.informer(Pods);
    const first = recorder();
    informer.addHandler(first.handler);
    await start();
    await informer.waitForSync();
    api.seed(Pods, pod('b'));
    api.modify<Pod>(Pods, 'default/a', (old) => ({ ...old, spec: { containers: [], nodeName: 'n2' } }));
    api.remove(Pods, 'default/b');
    await clock.settle();
    assert.deepEqual(first.seen, ['add a initial', 'add b', 'update a n1>n2', 'delete b']);
    const late = recorder();
    informer.addHandler(late.handler);
    assert.deepEqual(late.seen, ['add a initial']);
    assert.equal(informer.list()[0]?.kind, 'Pod');
    stop.abort();
  });

  it('keeps indices', async () => {
    const { api, factory, stop, start, clock } = setUp();
    const informer = factory.informer(Pods);
    informer.addIndex('node', (object) => [object.spec?.nodeName ?? '']);
    api.seed(Pods, pod('a'));
    await start();
    api.seed(Pods, pod('b'));
    api.modify<Pod>(Pods, 'default/a', (old) => ({ ...old, spec: { containers: [], nodeName: 'n2' } }));
    await clock.settle();
    const names = (node: string) => informer.byIndex('node', node).map((p) => p.metadata.name);
    assert.deepEqual([names('n1'), names('n2'), names('n3')], [['b'], ['a'], []]);
    stop.abort();
  });

  it('waits for a revision and rejects on abort', async () => {
    const { api, factory, stop, start, clock } = setUp();
    const informer = factory.informer(Pods);
    await start();
    const written = api.seed(Pods, pod('a'));
    await informer.waitForRevision(written.metadata.resourceVersion as string);
    assert.equal(informer.get({ namespace: 'default', name: 'a' })?.metadata.name, 'a');
    await assert.rejects(informer.waitForRevision('999999', AbortSignal.abort(new Error('enough'))), /enough/);
    await clock.settle();
    stop.abort();
  });
});

for (const server of [{ refusesInitialEvents: false }, { refusesInitialEvents: true }])
  describe(server.refusesInitialEvents ? 'informer of a server that knows no initial events' : 'informer', () => {
    it('has what is there, and then changes', async () => {
      const { api, factory, stop, start, clock } = setUp(server);
      const { seen, handler } = recorder();
      const informer = factory.informer(Pods);
      informer.addHandler(handler);
      const { metadata } = api.seed(Pods, pod('a'));
      await start();
      assert.deepEqual(seen, ['add a initial']);
      assert.deepEqual([informer.hasSynced(), informer.lastRevision()], [true, metadata.resourceVersion]);
      api.remove(Pods, 'default/a');
      await clock.settle();
      assert.deepEqual(seen, ['add a initial', 'delete a']);
      stop.abort();
    });

    it('resumes a broken watch at the last revision without a new list', async () => {
      const { api, factory, stop, start, clock } = setUp(server);
      const informer = factory.informer(Pods);
      const { seen, handler } = recorder();
      informer.addHandler(handler);
      await start();
      api.breakWatches();
      api.seed(Pods, pod('a'));
      await clock.advance(60_000);
      assert.deepEqual(seen, ['add a']);
      const starts = api.requests.filter(
        ({ query }) => !query.includes('watch') || query.includes('sendInitialEvents'),
      );
      assert.equal(starts.length, server.refusesInitialEvents ? 2 : 1);
      stop.abort();
    });

    it('lists again after 410 and finds objects that were deleted meanwhile', async () => {
      const { api, factory, stop, start, clock } = setUp(server);
      api.seed(Pods, pod('a'));
      api.seed(Pods, pod('b'));
      const informer = factory.informer(Pods);
      const { seen, handler } = recorder();
      informer.addHandler(handler);
      await start();
      seen.length = 0;
      api.breakWatches();
      api.remove(Pods, 'default/a');
      api.seed(Pods, pod('c'));
      api.breakWatches({ forget: true });
      await clock.advance(120_000);
      assert.deepEqual(seen, ['add c', 'delete a unknown']);
      stop.abort();
    });

    it('backs off while the server is down: no hot loop', async () => {
      const { api, factory, stop, start, clock } = setUp(server);
      api.intercept = () => {
        throw serviceUnavailable('down');
      };
      const informer = factory.informer(Pods);
      await start();
      await clock.advance(600_000);
      assert.ok(api.requests.length < 45 && api.requests.length > 5, String(api.requests.length));
      assert.equal(informer.hasSynced(), false);
      api.intercept = undefined;
      await clock.advance(60_000);
      assert.equal(informer.hasSynced(), true);
      stop.abort();
    });
  });

describe('informers of a factory', () => {
  it('is shared by equal selection and projection', () => {
    const { factory } = setUp();
    const project = (name: string) => ({ projection: { name, apply: ({ metadata }: Stored<Pod>) => ({ metadata }) } });
    assert.equal(factory.informer(Pods), factory.informer(Pods, {}));
    assert.notEqual(factory.informer(Pods), factory.informer(Pods, { namespace: 'x' }));
    assert.equal(factory.informer(Pods, project('meta')), factory.informer(Pods, project('meta')));
    assert.notEqual(factory.informer(Pods), factory.informer(Pods, project('meta')));
  });
});
