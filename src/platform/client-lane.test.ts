import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientLane } from './client-lane.ts';

const peer = (commonName: string, ...organizations: string[]) => ({ commonName, organizations, fingerprint256: '' });

test('a user certificate of another name gives no priority over the cluster', () => {
  for (const own of [peer('system:node:n1', 'system:nodes'), peer('system:apiserver'), peer('admin', 'system:masters')])
    assert.equal(clientLane(own, '192.0.2.1'), undefined);
  assert.equal(clientLane(undefined, '192.0.2.1'), '192.0.2.1');
  const [ann, bob] = [peer('ann', 'team'), peer('bob', 'team')].map((one) => clientLane(one, '192.0.2.1'));
  assert.ok(ann !== undefined && bob !== undefined && ann !== bob && ann !== '192.0.2.1');
  assert.equal(clientLane(peer('ann'), '192.0.2.2'), ann);
});
