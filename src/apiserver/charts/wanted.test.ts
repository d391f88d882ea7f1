import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SLOTS } from './timeline.ts';
import { MOST_NODES, RequestedCharts } from './wanted.ts';

const named = (from: number, to: number): Set<string> =>
  new Set(Array.from({ length: to - from }, (_, index) => `node-${from + index}`));

test('up to 500 nodes are all read', () => {
  const { names, complete } = new RequestedCharts().nodes(named(0, MOST_NODES));
  assert.deepEqual([names.length, complete], [MOST_NODES, true]);
});

test('in a larger cluster only requested nodes are read, the newest request first, workloads completely or not at all', () => {
  const wanted = new RequestedCharts();
  const ready = named(0, 5000);
  assert.deepEqual(wanted.nodes(ready), { names: [], complete: false });
  wanted.ask('node', named(4000, 4001), 0);
  wanted.ask('wide', named(1000, 1000 + MOST_NODES), 0);
  wanted.ask('web', named(100, 104), 1);
  wanted.ask('gone', named(6000, 6001), 1);
  const { names } = wanted.nodes(ready);
  assert.deepEqual(new Set(names), new Set([...named(100, 104), 'node-4000']));
  const asked = new Set(names);
  assert.deepEqual(
    ['web', 'node', 'wide', 'other'].map((uid) => wanted.covered(uid, asked)),
    [true, true, false, false],
  );
  wanted.forgetBefore(SLOTS);
  assert.deepEqual(new Set(wanted.nodes(ready).names), named(100, 104), 'questions of an hour ago are over');
});

test('so many questions are remembered', () => {
  const wanted = new RequestedCharts();
  for (let at = 0; at < 6000; at++) wanted.ask(`pod-${at}`, new Set(), 0);
  assert.deepEqual([wanted.has('pod-999'), wanted.has('pod-1000')], [false, true]);
});
