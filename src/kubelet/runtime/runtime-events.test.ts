/** The pod of an event, and the requests that find it. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { onAbort } from '../../base/abort.ts';
import { Channel } from '../../base/channel.ts';
import type { CriRuntimeService } from '../../cri/gen/cri-types.ts';
import type { CriEvent } from '../../cri/runtime-service.ts';
import { POD_UID_LABEL } from './labels.ts';
import { createPodStatusReader, type PodStatusReader } from './pod-status.ts';
import { runtimeEvents } from './runtime-events.ts';

/** A runtime with these containers, and a stream of events. */
function world(containers: Readonly<Record<string, string>>, listing: () => Promise<void> = async () => undefined) {
  const asked = { lists: 0 };
  const events = new Channel<CriEvent>();
  const runtime = {
    async listPodSandbox() {
      return { items: [] };
    },
    async listContainers() {
      asked.lists++;
      await listing();
      return {
        containers: Object.entries(containers).map(([id, uid]) => ({
          id,
          labels: { [POD_UID_LABEL]: uid },
          annotations: {},
          state: 'CONTAINER_RUNNING',
        })),
      };
    },
  } as unknown as CriRuntimeService;
  const reader = createPodStatusReader({
    runtime,
    messages: { messageOf: async () => '' },
  });
  const seen: string[] = [];
  const read = (async () => {
    for await (const { podUid, type } of runtimeEvents(
      { cri: { events: () => events }, reader },
      new AbortController().signal,
    ))
      seen.push(`${podUid} ${type}`);
  })();
  return { asked, events, reader, seen, read };
}

const rounds = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

it('an event of a container in creation waits for its answer; nothing is listed and no other event waits', async () => {
  const { asked, events, reader, seen, read } = world({});
  const answer = Promise.withResolvers<string>();
  await reader.learning('old', async () => 'known');
  const made = reader.learning('new', () => answer.promise);
  events.trySend({ containerId: 'making', type: 'started' });
  events.trySend({ containerId: 'known', type: 'stopped' });
  await rounds();
  assert.deepEqual(seen, ['old stopped']);
  answer.resolve('making');
  assert.equal(await made, 'making');
  await rounds();
  assert.deepEqual(seen, ['old stopped', 'new started']);
  events.close();
  await read;
  assert.equal(asked.lists, 0);
});

it('containers of other creators are found by one listing', async () => {
  const { asked, events, seen, read } = world({ foreign: 'other' });
  events.trySend({ containerId: 'foreign', type: 'started' });
  events.trySend({ containerId: 'foreign', type: 'stopped' });
  events.close();
  await read;
  assert.deepEqual(seen, ['other started', 'other stopped']);
  assert.equal(asked.lists, 1);
});

it('containers that were removed before their events were read are looked up in two listings, however many they are', async () => {
  const { asked, events, seen, read } = world({ foreign: 'other' }, () => nextTurn());
  for (let at = 0; at < 1000; at++) events.trySend({ containerId: `gone${at}`, type: 'deleted' });
  events.trySend({ containerId: 'foreign', type: 'started' });
  events.close();
  await read;
  assert.deepEqual(seen, ['other started']);
  // The first listing began with the first event, the second after all.
  assert.equal(asked.lists, 2);
});

it('events after the begin of a listing cause another one', async () => {
  const containers: Record<string, string> = {};
  const { asked, events, seen, read } = world(containers);
  events.trySend({ containerId: 'gone', type: 'deleted' });
  await rounds();
  containers['foreign'] = 'other';
  events.trySend({ containerId: 'foreign', type: 'started' });
  events.close();
  await read;
  assert.deepEqual(seen, ['other started']);
  assert.equal(asked.lists, 2);
});

it('so do events during another creation, and those of a failed creation', async () => {
  const { asked, events, reader, seen, read } = world({ foreign: 'other' });
  const answer = Promise.withResolvers<string>();
  const made = reader.learning('new', () => answer.promise);
  events.trySend({ containerId: 'foreign', type: 'started' });
  await rounds();
  assert.deepEqual(seen, []);
  answer.reject(new Error('no room'));
  await assert.rejects(made, /no room/);
  await rounds();
  assert.deepEqual(seen, ['other started']);
  events.close();
  await read;
  assert.equal(asked.lists, 1);
});

it('an id from a creation during a listing that does not contain it stays known', async () => {
  const { reader } = world({});
  const listing = reader.getPods(true);
  await reader.learning('new', async () => 'made');
  await listing;
  assert.equal(reader.podUidOf('made'), 'new');
  await reader.getPods(true);
  assert.equal(reader.podUidOf('made'), undefined);
});

it('a listing that fails ends the subscription, at the runtime too', async () => {
  const left = Promise.withResolvers<void>();
  const cri = {
    async *events(signal: AbortSignal): AsyncGenerator<CriEvent> {
      onAbort(signal, () => left.resolve());
      yield { containerId: 'c', type: 'started' };
      await left.promise;
    },
  };
  const reader = {
    podUidOf: () => undefined,
    creations: () => undefined,
    getPods: () => Promise.reject(new Error('no listing')),
  } as unknown as PodStatusReader;
  const events = runtimeEvents({ cri, reader }, new AbortController().signal);
  await assert.rejects(async () => {
    for await (const _ of events);
  }, /no listing/);
  await left.promise;
});
