/** Capacity that shares of devices consume, and the use of allocations. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CapacityRequestPolicy, Device } from '../../api/gen/resource-v1.ts';
import { consumptionOf, type Amounts } from './consumed-capacity.ts';
import { deviceUseOf } from './device-use.ts';

const DRIVER = 'net.example.com';

describe('the consumed capacity of a share', () => {
  const range: CapacityRequestPolicy = { default: '1Gi', validRange: { min: '1Gi', step: '512Mi', max: '3Gi' } };
  const values: CapacityRequestPolicy = { default: '1', validValues: ['8', '1', '2'] };
  const cases: [string, CapacityRequestPolicy | undefined, Amounts, string | undefined][] = [
    ['all, where nothing says otherwise', undefined, {}, '4Gi'],
    ['what is asked for', undefined, { memory: '300Mi' }, '300Mi'],
    ["with the driver's name", undefined, { [`${DRIVER}/memory`]: '1Gi' }, '1Gi'],
    ['not more than there is', undefined, { memory: '5Gi' }, undefined],
    ['nothing that is not there', undefined, { speed: '1' }, undefined],
    ['the default', range, {}, '1Gi'],
    ['the least', range, { memory: '1Mi' }, '1Gi'],
    ['the next step', range, { memory: '1100Mi' }, '1536Mi'],
    ['a step itself', range, { memory: '2Gi' }, '2Gi'],
    ['not more than is allowed', range, { memory: '3073Mi' }, undefined],
    ['the next value', values, { memory: '3' }, '8'],
    ['a value itself', values, { memory: '2' }, '2'],
    ['not more than the largest value', values, { memory: '9' }, undefined],
  ];
  for (const [about, requestPolicy, requests, expected] of cases)
    test(about, () => {
      const device: Device = {
        name: 'd',
        capacity: { memory: { value: '4Gi', ...(requestPolicy && { requestPolicy }) } },
      };
      assert.equal(consumptionOf(DRIVER, device, requests)?.['memory'], expected);
    });
});

test('counts allocations of claims: whole devices, shares, and no admin access', () => {
  const base = { driver: DRIVER, pool: 'p', request: 'r' };
  const results = [
    { ...base, device: 'w' },
    { ...base, device: 'x', shareID: '1', consumedCapacity: { memory: '1Gi' } },
    { ...base, device: 'x', shareID: '2', consumedCapacity: { memory: '512Mi' } },
    { ...base, device: 'v', adminAccess: true },
  ];
  const claim = { metadata: { uid: 'a' }, spec: {}, status: { allocation: { devices: { results } } } };
  const use = deviceUseOf([claim, { metadata: { uid: 'b' }, spec: {}, status: { allocation: {} } }]);
  const used = () => ['v', 'w', 'x'].filter((name) => use.inUse.has(`${DRIVER}/p/${name}`));
  const shared = () => use.shares.get(`${DRIVER}/p/x`);
  assert.deepEqual([used(), shared()], [['w'], { memory: '1536Mi' }]);
  use.set({ ...claim, status: { allocation: { devices: { results: results.slice(2) } } } });
  assert.deepEqual([used(), shared()], [[], { memory: '512Mi' }]);
  use.delete(claim);
  assert.deepEqual([used(), shared(), use.claim('a')], [[], undefined, undefined]);
});
