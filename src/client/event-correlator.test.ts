import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Event } from '../api/gen/core-v1.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { createEventCorrelator } from './event-correlator.ts';

function eventOf(name: string): Event {
  return { metadata: { name: `${name}.1` }, involvedObject: { kind: 'Pod', namespace: 'ns', name }, message: 'm' };
}

test('a limited number of objects is remembered: those with the latest events', () => {
  const correlator = createEventCorrelator(new VirtualClock(), 2);
  const actionOf = (name: string): string => correlator.correlate(eventOf(name)).action;
  assert.deepEqual(['a', 'b', 'a', 'c', 'a', 'b'].map(actionOf), [
    'create',
    'create',
    'patch',
    'create',
    'patch',
    'create',
  ]);
});
