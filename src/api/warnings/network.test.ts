/** In objects with thousands of addresses only the first ones are checked. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpointSliceWarnings, endpointsWarnings, networkPolicyWarnings } from './network.ts';

const MANY = 5000;
const MOST = 2000;
const many = <T>(make: (index: number) => T): T[] => Array.from({ length: MANY }, (_, index) => make(index));

test('addresses and ranges beyond the first thousands cause no warnings', () => {
  const ip = '2001:DB8::1';
  const cidr = '2001:DB8::/64';
  const warnings = [
    networkPolicyWarnings({
      spec: { podSelector: {}, ingress: [{ from: many(() => ({ ipBlock: { cidr } })) }] },
    } as never),
    networkPolicyWarnings({ spec: { egress: [{ to: [{ ipBlock: { cidr, except: many(() => cidr) } }] }] } } as never),
    endpointsWarnings({ metadata: {}, subsets: many(() => ({ addresses: [{ ip }] })) } as never),
    endpointSliceWarnings(
      { metadata: {}, addressType: 'IPv6', endpoints: many(() => ({ addresses: [ip] })) } as never,
      undefined,
    ),
  ];
  for (const texts of warnings) assert.equal(texts.length, MOST, texts[0]);
  assert.match(warnings[0]![0]!, /^spec.ingress\[0\].from\[0\].ipBlock.cidr: /);
  assert.match(warnings[1]![1]!, /^spec.egress\[0\].to\[0\].ipBlock.except\[0\]: /);
  assert.match(warnings[2]![1]!, /^subsets\[1\].addresses\[0\].ip: /);
  assert.match(warnings[3]![1]!, /^endpoints\[1\].addresses\[0\]: /);
});
