import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defined } from '../../base/defined-fixture.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { bandwidthOf, policingRules } from './pod-bandwidth.ts';

const pod = (ingress?: string, egress?: string): Pod => ({
  metadata: {
    annotations: {
      ...(ingress === undefined ? {} : { 'kubernetes.io/ingress-bandwidth': ingress }),
      ...(egress === undefined ? {} : { 'kubernetes.io/egress-bandwidth': egress }),
    },
  },
});

test('annotations in bits per second', () => {
  assert.equal(bandwidthOf(pod()), undefined);
  assert.deepEqual(defined(bandwidthOf(pod('10M'))), { ingress: 10_000_000 });
  assert.deepEqual(bandwidthOf(pod('1Gi', '500k')), { ingress: 1_073_741_824, egress: 500_000 });
});

for (const text of ['fast', '10', '2P']) test(`refuses ${text}`, () => assert.throws(() => bandwidthOf(pod(text))));

test('the egress of pods is policed; without such pods there is no table', () => {
  const rules = policingRules({ nftTable: 'kt' }, [
    { device: 'veth1', limits: { egress: 8_000_000 } },
    { device: 'veth2', limits: { ingress: 8_000_000 } },
  ]);
  assert.match(
    rules,
    /device veth1 priority 0; policy accept;\n +limit rate over 1000000 bytes\/second burst 100000 bytes drop/,
  );
  assert.doesNotMatch(rules, /veth2/);
  assert.equal(
    policingRules({ nftTable: 'kt' }, []),
    'add table netdev kt-bandwidth\ndelete table netdev kt-bandwidth\n',
  );
});
