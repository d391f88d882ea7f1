import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createSimPlatform } from '../../../platform/sim/sim-platform.ts';
import { createPausableStore } from '../../../storage/pausable-store.ts';
import { createMemoryStore } from '../../../storage/memory/memory-store.ts';
import { describeStore } from '../../../storage/store-suite.ts';
import { prefixEnd, type Store } from '../../../storage/store.ts';
import { StoreCopy } from './copy-store.ts';

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await Promise.resolve();
};
const context = () => ({ eventTtlSeconds: 3600, report: () => undefined, signal: new AbortController().signal });
const content = async (store: Store): Promise<Record<string, string>> => {
  const { entries } = await store.range({ start: '/registry/', end: prefixEnd('/registry/') });
  return Object.fromEntries(entries.map(({ key, value }) => [key, Buffer.from(value).toString()]));
};

describeStore('pausable store', () => {
  const { clock } = createSimPlatform();
  const { store } = createPausableStore(createMemoryStore({ clock }));
  return Promise.resolve({ store, clock });
});

describe('a copy', () => {
  const stores = async (): Promise<{ source: Store; target: Store }> => {
    const { clock } = createSimPlatform();
    const source = createMemoryStore({ clock });
    for (let count = 0; count < 500; count++)
      await source.put({ key: `/registry/pods/a/${count}`, value: Buffer.from(`${count}`) });
    await source.put({ key: '/registry/masterleases/1', value: Buffer.from('server') });
    await source.put({ key: '/other', value: Buffer.from('of another program') });
    return { source, target: createMemoryStore({ clock }) };
  };

  test('contains writes made meanwhile; every revision rises, and the old ones are compacted', async () => {
    const { source, target } = await stores();
    const copy = new StoreCopy(source, target, context());
    const begun = copy.begin();
    for (let count = 0; count < 400; count++) {
      await source.put({ key: `/registry/pods/a/${count % 7}`, value: Buffer.from(`${count}+`) });
      if (count % 3 === 0) await source.delete({ key: `/registry/pods/a/${count + 50}` });
    }
    await begun;
    await source.delete({ key: '/registry/pods/a/1' });
    const { from, to, objects } = await copy.finish();
    const expected = await content(source);
    delete expected['/registry/masterleases/1'];
    delete expected['/registry/keelson-move/mark'];
    assert.deepEqual(await content(target), expected);
    assert.equal(objects, Object.keys(expected).length);
    assert.ok(to > from);
    const before = await source.range({ start: '/registry/', end: prefixEnd('/registry/') });
    for (const { key, modRevision } of before.entries) {
      const copied = await target.get(key);
      assert.ok(copied === undefined || copied.modRevision > modRevision, key);
    }
    const gone = Promise.withResolvers<Error>();
    target.watch({ start: '/', end: '0', afterRevision: from }, { onEvents: () => undefined, onError: gone.resolve });
    assert.match((await gone.promise).message, /compacted/);
  });

  test('a few objects that change all the time are moved, and rise like all others', async () => {
    const { clock } = createSimPlatform();
    const [source, target] = [createMemoryStore({ clock }), createMemoryStore({ clock })];
    const put = (name: string) => source.put({ key: `/registry/pods/a/${name}`, value: Buffer.from(name) });
    for (const name of ['idle', 'busy', 'late']) await put(name);
    const copy = new StoreCopy(source, target, context());
    await copy.begin();
    for (let count = 0; count < 300; count++) await put('busy');
    for (let count = 0; count < 60; count++) await put(`new-${count}`);
    await put('late');
    const { from, to } = await copy.finish();
    assert.ok(to > from);
    for (const { key, modRevision } of (await source.range({ start: '/registry/pods/', end: '/registry/pods0' }))
      .entries)
      assert.ok((await target.get(key))!.modRevision > modRevision, key);
  });

  test('a target that is not empty is refused and left alone', async () => {
    const { source, target } = await stores();
    await target.put({ key: '/registry/pods/a/x', value: Buffer.from('x') });
    const copy = new StoreCopy(source, target, context());
    await assert.rejects(copy.begin(), /has 1 keys below \/registry\/: it must be empty/);
    await copy.end({ undo: true });
    assert.deepEqual(await content(target), { '/registry/pods/a/x': 'x' });
  });

  test('a copy that differs is an error; an aborted one leaves the target empty', async () => {
    const { source, target } = await stores();
    const copy = new StoreCopy(source, target, context());
    await copy.begin();
    await target.put({ key: '/registry/pods/a/1', value: Buffer.from('of somebody else') });
    await target.put({ key: '/registry/pods/a/y', value: Buffer.from('of somebody else') });
    await assert.rejects(copy.finish(), /the copy differs in 2 keys, such as \/registry\/pods\/a\/1/);
    await copy.end({ undo: true });
    assert.deepEqual(await content(target), {});
    assert.equal((await content(source))['/registry/keelson-move/mark'], undefined);
  });

  test('a write that the target refuses ends all others before the target is left empty', async () => {
    const { source, target } = await stores();
    const refusing: Store = {
      ...createPausableStore(target).store,
      async put(request) {
        if (request.key === '/registry/pods/a/200') throw new Error('request is too large');
        await turns(5);
        return target.put(request);
      },
    };
    const copy = new StoreCopy(source, refusing, context());
    await assert.rejects(copy.begin(), /request is too large/);
    await copy.end({ undo: true });
    await turns(10_000);
    assert.deepEqual(await content(target), {});
  });

  test('paused writes wait, and end as the move ends', async () => {
    const { source } = await stores();
    for (const outcome of ['go on', 'refuse'] as const) {
      const { store, ...control } = createPausableStore(source);
      await control.pause();
      let ended = false;
      const writing = store.put({ key: '/registry/a', value: Buffer.from(outcome) }).finally(() => (ended = true));
      writing.catch(() => undefined);
      await store.get('/registry/a');
      assert.equal(ended, false);
      control.release(outcome);
      if (outcome === 'go on') assert.equal((await writing).ok, true);
      else await assert.rejects(writing, /moved to another store/);
    }
  });

  test('writes that waited wait again where the store is paused again at once', async () => {
    const { source } = await stores();
    const { store, ...control } = createPausableStore(source);
    await control.pause();
    const writing = store.put({ key: '/registry/a', value: Buffer.from('a') });
    control.release('go on');
    await control.pause();
    for (let turn = 0; turn < 10; turn++) await store.get('/registry/a');
    assert.equal(await source.get('/registry/a'), undefined);
    control.release('go on');
    assert.equal((await writing).ok, true);
  });
});
