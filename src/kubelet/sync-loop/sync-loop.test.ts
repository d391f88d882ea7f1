/** The main loop: the handlers of each channel, their times, and the causes of a pause. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { SyncLoopChannels } from './channels.ts';
import { createSyncLoop } from './sync-loop.ts';
import type { PodLifecycleEvent } from '../pleg/pod-records.ts';
import type { PodOperation } from '../types/pod-update.ts';

const pod = (name: string): Pod => ({ metadata: { namespace: 'default', name, uid: name } });

/** A loop that records its calls, `additions web`. */
function rig({ cleanup = async () => undefined }: { cleanup?: () => Promise<void> } = {}) {
  const platform = createSimPlatform();
  const { clock } = platform;
  const calls: string[] = [];
  const state = { runtimeErrors: [] as string[], ready: true, due: [] as Pod[], known: ['web'] };
  const noted = (what: string) => (pods: readonly Pod[]) =>
    void calls.push(`${what} ${pods.map(({ metadata }) => metadata.name).join()}`);
  const channels = new SyncLoopChannels();
  const loop = createSyncLoop({
    channels,
    platform,
    handler: {
      handlePodAdditions: noted('additions'),
      handlePodUpdates: noted('updates'),
      handlePodRemoves: noted('removes'),
      handlePodReconcile: noted('reconcile'),
      handlePodSyncs: noted('syncs'),
      async handlePodCleanups() {
        calls.push(`cleanups at ${clock.monotonicMs()}`);
        await cleanup();
      },
    },
    runtimeErrors: () => state.runtimeErrors,
    allSourcesReady: () => state.ready,
    addSource: ({ source }) => void calls.push(`source ${source}`),
    getPodsToSync: () => state.due.splice(0),
    getPodByUid: (uid) => (state.known.includes(uid) ? pod(uid) : undefined),
    handleProbeSync: ({ podUid }) => void calls.push(`probe ${podUid}`),
    cleanUpContainersInPod: (uid, id) => void calls.push(`prune ${id} of ${uid}`),
  });
  const life = new AbortController();
  const start = async (): Promise<void> => {
    loop.start(life.signal);
    await clock.settle();
  };
  const cleanups = (): number[] =>
    calls.filter((call) => call.startsWith('cleanups')).map((call) => Number(call.split(' ')[2]));
  const taken = (): string[] => calls.splice(0);
  return { platform, clock, state, loop, channels, start, cleanups, taken, stop: () => life.abort() };
}

describe('configCh', () => {
  const operations: [PodOperation, string][] = [
    ['ADD', 'additions'],
    ['UPDATE', 'updates'],
    ['DELETE', 'updates'],
    ['REMOVE', 'removes'],
    ['RECONCILE', 'reconcile'],
  ];
  for (const [op, handler] of operations)
    it(`${op} is passed to ${handler}, and then the source is ready`, async () => {
      const { channels, start, taken, stop } = rig();
      channels.configCh({ op, source: 'file', pods: [pod('web'), pod('db')] });
      await start();
      assert.deepEqual(taken(), [`${handler} web,db`, 'source file']);
      stop();
    });
});

describe('plegCh', () => {
  const events: [PodLifecycleEvent['type'], string, string[]][] = [
    ['ContainerStarted', 'web', ['syncs web']],
    ['ContainerChanged', 'web', ['syncs web']],
    ['ContainerDied', 'web', ['syncs web', 'prune c1 of web']],
    ['ContainerRemoved', 'web', []],
    ['ContainerStarted', 'unknown', []],
    ['ContainerDied', 'unknown', ['prune c1 of unknown']],
  ];
  for (const [type, id, expected] of events)
    it(`${type} of ${id}: ${expected.join(', ') || 'nothing'}`, async () => {
      const { channels, start, taken, stop } = rig();
      await start();
      channels.plegCh({ type, id, data: 'c1' });
      assert.deepEqual(taken(), [], 'nothing in the turn of whoever tells');
      await rigTurn();
      assert.deepEqual(taken(), expected);
      stop();
    });
});

/** Lets the loop have its turn. */
async function rigTurn(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
}

describe('the other channels', () => {
  it('probe results are processed as they arrive', async () => {
    const { channels, start, taken, stop } = rig();
    await start();
    channels.probeCh({ type: 'readiness', podUid: 'web', containerId: 'c1', result: 'success' });
    await rigTurn();
    assert.deepEqual(taken(), ['probe web']);
    stop();
  });

  it('syncCh: pods that are due are synced at once after a signal, others by the timer', async () => {
    const { clock, channels, start, state, taken, stop } = rig();
    state.ready = false;
    await start();
    state.due = [pod('web')];
    channels.syncCh();
    await rigTurn();
    assert.deepEqual(taken(), ['syncs web']);
    state.due = [pod('forgotten')];
    await clock.advance(30_000);
    assert.deepEqual(taken(), ['syncs forgotten']);
    stop();
  });
});

describe('housekeepingCh', () => {
  it('is rung two seconds after a change, and every thirty when there is none', async () => {
    const { clock, channels, start, cleanups, stop } = rig();
    await start();
    await clock.advance(70_000);
    assert.deepEqual(cleanups(), [2_000, 32_000, 62_000]);
    channels.configCh({ op: 'ADD', source: 'api', pods: [pod('web')] });
    await clock.advance(500);
    channels.plegCh({ type: 'ContainerStarted', id: 'web', data: 'c1' });
    await clock.advance(3_000);
    assert.deepEqual(cleanups().slice(3), [72_000], 'once for both changes');
    stop();
  });

  it('takes no pod for an orphan before every source is ready, and cleans up as soon as they are', async () => {
    const { clock, channels, start, state, cleanups, stop } = rig();
    state.ready = false;
    await start();
    await clock.advance(10_000);
    assert.deepEqual(cleanups(), []);
    channels.configCh({ op: 'ADD', source: 'api', pods: [] });
    state.ready = true;
    channels.configCh({ op: 'ADD', source: 'file', pods: [] });
    await clock.advance(2_000);
    assert.deepEqual(cleanups(), [12_000]);
    stop();
  });

  it('never runs twice at a time; later requests run afterwards', async () => {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let runs = 0;
    const { clock, channels, start, cleanups, stop } = rig({ cleanup: () => gates[runs++]!.promise });
    await start();
    await clock.advance(2_000);
    channels.configCh({ op: 'ADD', source: 'api', pods: [pod('web')] });
    await clock.advance(10_000);
    assert.equal(cleanups().length, 1);
    gates[0]!.resolve();
    await clock.advance(2_000);
    assert.equal(cleanups().length, 2);
    gates[1]!.resolve();
    await clock.settle();
    stop();
  });

  it('that failed is retried, and the loop continues', async () => {
    let failures = 2;
    const cleanup = async (): Promise<void> => {
      if (failures-- > 0) throw new Error('the runtime is away');
    };
    const { clock, channels, start, cleanups, taken, stop } = rig({ cleanup });
    await start();
    await clock.advance(7_000);
    assert.deepEqual(cleanups(), [2_000, 4_000, 6_000]);
    taken();
    channels.configCh({ op: 'ADD', source: 'api', pods: [pod('web')] });
    await clock.settle();
    assert.deepEqual(taken(), ['additions web', 'source api']);
    stop();
  });
});

describe('a runtime with errors', () => {
  it('holds everything up, with longer and longer pauses, until it is back', async () => {
    const { clock, loop, channels, start, state, taken, stop } = rig();
    state.runtimeErrors = ['down'];
    await start();
    channels.configCh({ op: 'ADD', source: 'api', pods: [pod('web')] });
    await clock.advance(60_000);
    assert.deepEqual(taken(), []);
    state.runtimeErrors = [];
    loop.runtimeRecovered();
    await clock.settle();
    assert.deepEqual(taken().slice(0, 2), ['additions web', 'source api']);
    stop();
  });

  it('makes the loop unhealthy after two minutes', async () => {
    const { clock, loop, start, state, stop } = rig();
    assert.equal(loop.healthProblem(), 'sync loop has not started yet');
    await start();
    assert.equal(loop.healthProblem(), undefined);
    await clock.advance(300_000);
    assert.equal(loop.healthProblem(), undefined, 'a node at rest turns now and then');
    state.runtimeErrors = ['down'];
    await clock.advance(180_000);
    assert.match(loop.healthProblem() ?? '', /sync Loop took longer than expected/);
    stop();
    await clock.settle();
    assert.equal(clock.pendingTimers, 0);
  });
});
