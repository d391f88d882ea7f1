import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolumeClaim, Pod } from '../../../api/gen/core-v1.ts';
import { stored } from '../../../api/stored-fixture.ts';
import { volumeEvents } from './volume-events.ts';

const COUNT = 200;

test('a pod of many ephemeral volumes is tried again by the last of its claims alone', () => {
  const volumes = Array.from({ length: COUNT }, (_, at) => ({
    name: `v${at}`,
    ephemeral: { volumeClaimTemplate: { spec: {} } },
  }));
  const pod = stored<Pod>({ metadata: { name: 'p', namespace: 'd' }, spec: { containers: [], volumes } });
  const there = new Map<string, PersistentVolumeClaim>();
  const [added] = volumeEvents((_namespace, name) => there.get(name));
  assert.equal(added?.event, 'persistent-volume-claim/add');
  let attempts = 0;
  for (const { name } of volumes) {
    const claim: PersistentVolumeClaim = { metadata: { name: `p-${name}`, namespace: 'd' } };
    if (added.hint!(pod, undefined, claim)) attempts++;
    there.set(`p-${name}`, claim);
  }
  assert.equal(attempts, 1);
  assert.equal(added.hint!(pod, undefined, { metadata: { name: 'other', namespace: 'd' } }), false);
});
