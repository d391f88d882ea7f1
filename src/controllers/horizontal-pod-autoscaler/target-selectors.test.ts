/** Which autoscalers select the same pods, and what it costs to find them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import { TargetSelectors } from './target-selectors.ts';

const pod = (labels: Record<string, string>): Pod => ({ metadata: { name: 'p', labels } });
const never = { pause: () => assert.fail('little work takes no turn') };

test('others are those whose last selector matches one of the pods', async () => {
  const selectors = new TargetSelectors();
  for (const [key, text] of Object.entries({
    own: 'app=web',
    same: 'app=web',
    wide: 'app',
    other: 'app=db',
    gone: 'app',
  }))
    selectors.set(key, text);
  selectors.forget('gone');
  selectors.set('moved', 'app');
  selectors.set('moved', 'app=none');
  const keys = ['own', 'same', 'wide', 'other', 'gone', 'moved', 'unknown'];
  assert.deepEqual(await selectors.othersOf('own', keys, { pods: [pod({}), pod({ app: 'web' })], ...never }), [
    'same',
    'wide',
  ]);
});

test('a text is read once for all autoscalers, and forgotten with the last of them', () => {
  const selectors = new TargetSelectors();
  const first = selectors.set('a', 'app=web');
  assert.equal(selectors.set('b', 'app=web'), first);
  selectors.forget('a');
  assert.equal(selectors.set('c', 'app=web'), first);
  selectors.forget('b');
  selectors.set('c', 'app=db');
  assert.notEqual(selectors.set('a', 'app=web'), first);
});

test('equal selectors are compared with the pods once, and other work gets turns between many', async () => {
  const selectors = new TargetSelectors();
  let reads = 0;
  const watched = new Proxy<Record<string, string>>({}, { getOwnPropertyDescriptor: () => void reads++ });
  const pods = Array.from({ length: 1000 }, () => pod(watched));
  const keys = Array.from({ length: 100 }, (_, at) => `h${at}`);
  for (const [at, key] of keys.entries()) selectors.set(key, `app=${at % 50}`);
  let turns = 0;
  const pause = async (): Promise<void> => {
    turns++;
  };
  assert.deepEqual(await selectors.othersOf('h0', keys, { pods, pause }), []);
  assert.equal(reads, 50_000);
  assert.equal(turns, 5);
});
