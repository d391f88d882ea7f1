import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WaitingRequests } from './waiting-requests.ts';

test('a change of a node concerns the requests that wait for it alone, once', () => {
  const waiting = new WaitingRequests();
  for (let at = 0; at < 100; at++) waiting.add(`r${at}`, `n${at % 50}`);
  assert.deepEqual(waiting.takeOf('n7'), ['r7', 'r57']);
  assert.deepEqual(waiting.takeOf('n7'), []);
  waiting.add('r7', 'n8');
  waiting.delete('r8');
  assert.deepEqual(waiting.takeOf('n8').toSorted(), ['r58', 'r7']);
  assert.deepEqual(waiting.takeOf('other'), []);
});
