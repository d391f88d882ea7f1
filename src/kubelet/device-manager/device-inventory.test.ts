/** What the node's status says of resources whose plugin is gone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createDeviceInventory } from './device-inventory.ts';
import type { Endpoint } from './endpoint.ts';

test('the last hundred removed resources are reported as 0', async () => {
  const clock = new VirtualClock();
  const inventory = createDeviceInventory(clock);
  for (let number = 0; number < 150; number++) {
    const endpoint = {} as Endpoint;
    inventory.connected(`example.com/r${number}`, endpoint);
    inventory.update(`example.com/r${number}`, [{ ID: 'a', health: 'Healthy' }]);
    inventory.disconnected(`example.com/r${number}`, endpoint);
  }
  await clock.advance(20 * 60_000);
  const { capacity } = inventory.capacity();
  assert.equal(Object.keys(capacity).length, 100);
  assert.equal(capacity['example.com/r149'], '0');
  assert.deepEqual(inventory.resources(), []);
});

test('a list that says the same in any order is no change; health and topology are', () => {
  const inventory = createDeviceInventory(new VirtualClock());
  const on = (node: number) => ({ nodes: [{ ID: node }] });
  const update = (...devices: Parameters<typeof inventory.update>[1]): boolean => inventory.update('r', devices);
  const [a, b] = [
    { ID: 'a', health: 'Healthy', topology: on(0) },
    { ID: 'b', health: 'Healthy', topology: on(1) },
  ];
  assert.equal(update(a, b), true);
  assert.equal(update({ ...b, topology: on(1) }, a), false);
  assert.equal(update(a, { ...b, health: 'Unhealthy' }), true);
  assert.equal(update(a, { ...b, topology: on(2), health: 'Unhealthy' }), true);
  assert.equal(update(a), true);
  assert.equal(inventory.refused('r'), true);
  assert.equal(inventory.refused('r'), false);
  assert.equal(update(a), true);
});
