import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EndpointAddress, EndpointSubset } from '../../api/gen/core-v1.ts';
import { sameSubsets } from './subsets.ts';

const at = (ip: string): EndpointAddress => ({ ip, targetRef: { kind: 'Pod', name: `p-${ip}` } });
const http = { name: 'http', port: 80, protocol: 'TCP' };
const metrics = { name: 'metrics', port: 9090, protocol: 'TCP' };
const both: EndpointSubset = { addresses: [at('10.0.0.1'), at('10.0.0.2')], ports: [http, metrics] };
const one: EndpointSubset = { notReadyAddresses: [at('10.0.0.3')], ports: [http] };

for (const [what, a, b, same] of [
  ['nothing and an empty list', undefined, [], true],
  ['in another order', [both, one], [one, both], true],
  ['addresses in another order', [both], [{ ...both, addresses: both.addresses!.toReversed() }], true],
  ['ports in another order', [both], [{ ...both, ports: [metrics, http] }], true],
  [
    'fields in another order',
    [{ addresses: [{ ip: '10.0.0.1', nodeName: 'n' }] }],
    [{ addresses: [{ nodeName: 'n', ip: '10.0.0.1' }] }],
    true,
  ],
  ['another address', [both], [{ ...both, addresses: [at('10.0.0.1'), at('10.0.0.9')] }], false],
  ['an address that is ready now', [one], [{ addresses: one.notReadyAddresses!, ports: one.ports! }], false],
  ['one address more', [both], [{ ...both, addresses: [...both.addresses!, at('10.0.0.9')] }], false],
  ['another pod behind the address', [{ addresses: [at('10.0.0.1')] }], [{ addresses: [{ ip: '10.0.0.1' }] }], false],
] as [string, EndpointSubset[] | undefined, EndpointSubset[], boolean][])
  test(`subsets, ${what}: ${same ? 'the same' : 'not the same'}`, () => {
    assert.equal(sameSubsets(a, b), same);
    assert.equal(sameSubsets(b, a), same);
  });
