import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseStubDomain } from './stub-domain.ts';

test('a domain and its servers', () => {
  assert.deepEqual(parseStubDomain('Corp.Example.=10.0.0.53,10.0.1.53:5353,fd00::1,[fd00::2]:54'), {
    domain: 'corp.example',
    servers: [
      { address: '10.0.0.53', port: 53 },
      { address: '10.0.1.53', port: 5353 },
      { address: 'fd00::1', port: 53 },
      { address: 'fd00::2', port: 54 },
    ],
  });
});

for (const text of [
  'corp.example',
  'corp.example=',
  '=10.0.0.1',
  'a=b',
  'a=10.0.0.1:0',
  'a=10.0.0.1=x',
  'a b=10.0.0.1',
])
  test(`refuses ${text}`, () => assert.throws(() => parseStubDomain(text)));
