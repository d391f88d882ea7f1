import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../api/gen/core-v1.ts';
import { NOTHING_CHOSEN, shellChoiceOf, wordsOf } from './choice.ts';

const pod = {
  metadata: { name: 'p', annotations: { 'kubectl.kubernetes.io/default-container': 'side' } },
  spec: {
    containers: [{ name: 'main', tty: true }, { name: 'side' }, { name: 'ended' }],
    initContainers: [{ name: 'prepare' }],
  },
  status: {
    containerStatuses: [
      { name: 'main', state: { running: {} } },
      { name: 'side', state: { running: {} } },
      { name: 'ended', state: { terminated: {} } },
    ],
  },
} as unknown as Pod;
const choice = (query: string, chosen = NOTHING_CHOSEN, mayAttach = true) =>
  shellChoiceOf(pod, new URLSearchParams(query), { mayAttach, chosen });
const ATTACH = { mode: 'attach', command: '' } as const;

test('running containers are offered, and the default one is selected', () => {
  assert.deepEqual(choice('').containers, ['main', 'side']);
  assert.equal(choice('').container, 'side');
  assert.equal(choice('container=main').container, 'main');
  assert.equal(choice('container=nobody').container, 'side');
  assert.deepEqual(choice('container=ended').containers, ['main', 'side', 'ended']);
});

test('attach is selected only when it is allowed', () => {
  assert.equal(choice('', ATTACH).mode, 'attach');
  assert.equal(choice('', ATTACH, false).mode, 'exec');
  assert.equal(choice('container=main', ATTACH).tty, true);
});

test('an address selects neither a command nor attach', () => {
  const { mode, command } = choice('command=rm+-rf+/data&mode=attach');
  assert.deepEqual({ mode, command }, { mode: 'exec', command: '' });
});

test('a command line is split at spaces outside quotes', () => {
  assert.deepEqual(wordsOf('sh -c "echo a b" \'c d\''), ['sh', '-c', 'echo a b', 'c d']);
  assert.deepEqual(wordsOf(''), []);
});
