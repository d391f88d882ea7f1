import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../api/gen/core-v1.ts';
import { shellChoiceOf, wordsOf } from './choice.ts';

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
const choice = (query: string, mayAttach = true) => shellChoiceOf(pod, new URLSearchParams(query), mayAttach);

test('running containers are offered, and the default one is chosen', () => {
  assert.deepEqual(choice('').containers, ['main', 'side']);
  assert.equal(choice('').container, 'side');
  assert.equal(choice('container=main').container, 'main');
  assert.equal(choice('container=nobody').container, 'side');
  assert.deepEqual(choice('container=ended').containers, ['main', 'side', 'ended']);
});

test('attach is chosen only where it is allowed', () => {
  assert.equal(choice('mode=attach').mode, 'attach');
  assert.equal(choice('mode=attach', false).mode, 'exec');
  assert.equal(choice('container=main&mode=attach').tty, true);
});

test('a command line is split at spaces outside quotes', () => {
  assert.deepEqual(wordsOf('sh -c "echo a b" \'c d\''), ['sh', '-c', 'echo a b', 'c d']);
  assert.deepEqual(wordsOf(''), []);
});
