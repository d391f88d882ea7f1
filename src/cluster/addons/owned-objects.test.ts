import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAbsentClient } from '../../client/absent-client.ts';
import type { Client } from '../../client/client.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { OwnedObjects } from './owned-objects.ts';

test('an object is not taken for deleted while the server does not answer', async () => {
  const client = createAbsentClient(new VirtualClock(), 'no server here');
  const objects = new OwnedObjects(client, new AbortController().signal);
  const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', namespace: 'n' };
  await assert.rejects(objects.prune('addon', reference), { message: 'no server here' });
});

test('a kind is taken for deleted only while its group is known', async () => {
  const groups = [{ metadata: { name: 'late.example' }, versions: [{ version: 'v1', freshness: 'Stale' }] }];
  const body = Buffer.from(JSON.stringify({ kind: 'APIGroupDiscoveryList', items: groups }));
  const client: Client = {
    ...createAbsentClient(new VirtualClock(), 'no server here'),
    raw: async () => ({ status: 200, headers: {}, body }),
  };
  const objects = new OwnedObjects(client, new AbortController().signal);
  const late = objects.prune('addon', { apiVersion: 'late.example/v1', kind: 'Thing', name: 'a' });
  await assert.rejects(late, { message: 'the server of late.example/v1 is not available' });
  await objects.prune('addon', { apiVersion: 'gone.example/v1', kind: 'Thing', name: 'a' });
});
