import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../api/gen/core-v1.ts';
import { stationsOf } from './stations.ts';

const TIME = '2026-01-01T00:00:00Z';
const condition = (type: string, status: string, reason = ''): object => ({
  type,
  status,
  reason,
  lastTransitionTime: TIME,
});
const now = (pod: object): string =>
  stationsOf({ metadata: { name: 'p' }, ...pod } as unknown as Pod)
    .filter(({ state }) => state === 'now')
    .map(({ name, tone }) => `${name} ${tone}`)
    .join();
const spec = { nodeName: 'n', containers: [{ name: 'c' }] };
const conditions = [
  condition('PodScheduled', 'True'),
  condition('PodReadyToStartContainers', 'True'),
  condition('Initialized', 'True'),
];

test('the current station is the first that is not completed', () => {
  assert.equal(now({ spec, status: {} }), 'Scheduled busy');
  const unschedulable = [condition('PodScheduled', 'False', 'Unschedulable')];
  assert.equal(now({ spec, status: { conditions: unschedulable } }), 'Scheduled bad');
  assert.equal(now({ spec, status: { conditions: conditions.slice(0, 1) } }), 'Sandbox busy');
  assert.equal(now({ spec, status: { conditions: conditions.slice(0, 2) } }), 'Init containers busy');
  assert.equal(now({ spec, status: { conditions } }), 'Running busy');
  const crashing = [{ name: 'c', state: { waiting: { reason: 'CrashLoopBackOff' } } }];
  assert.equal(now({ spec, status: { conditions, containerStatuses: crashing } }), 'Running bad');
  const running = [{ name: 'c', started: true, state: { running: {} } }];
  assert.equal(now({ spec, status: { conditions, containerStatuses: running } }), 'Ready busy');
  const all = [...conditions, condition('Ready', 'True')];
  assert.equal(now({ spec, status: { conditions: all, containerStatuses: running } }), 'Ready good');
});

test('a terminating pod is at the last station, whatever it reached before', () => {
  const metadata = { name: 'p', deletionTimestamp: TIME, deletionGracePeriodSeconds: 30 };
  assert.equal(now({ metadata, spec, status: { conditions } }), 'Terminating busy');
  assert.equal(now({ spec, status: { phase: 'Succeeded', conditions } }), 'Ended done');
  assert.equal(now({ spec, status: { phase: 'Failed', conditions } }), 'Ended bad');
});
