import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientFlow } from './client-flow.ts';

const peer = (commonName: string, ...organizations: string[]) => ({ commonName, organizations, fingerprint256: '' });

test('a user certificate of another name gives no priority over the cluster', () => {
  for (const own of [peer('system:node:n1', 'system:nodes'), peer('system:apiserver'), peer('admin', 'system:masters')])
    assert.equal(clientFlow(own, '192.0.2.1'), undefined);
  assert.equal(clientFlow(undefined, '192.0.2.1'), '192.0.2.1');
  const [ann, bob] = [peer('ann', 'team'), peer('bob', 'team')].map((one) => clientFlow(one, '192.0.2.1'));
  assert.ok(ann !== undefined && bob !== undefined && ann !== bob && ann !== '192.0.2.1');
  assert.equal(clientFlow(peer('ann'), '192.0.2.2'), ann);
});
