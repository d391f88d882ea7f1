import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ResourceSlice } from '../api/gen/resource-v1.ts';
import type { DeviceTaintRule } from '../api/gen/resource-v1beta2.ts';
import { ruleSelects, withRuleTaints } from './device-taint-rules.ts';

const taint = { key: 'broken', effect: 'NoSchedule' };
const rule = (deviceSelector?: DeviceTaintRule['spec']['deviceSelector']): DeviceTaintRule => ({
  metadata: { name: 'r' },
  spec: { taint, ...(deviceSelector === undefined ? {} : { deviceSelector }) },
});
const device = { driver: 'gpu', pool: 'p', device: 'd' };

describe('device taint rules', () => {
  const cases: [DeviceTaintRule['spec']['deviceSelector'], boolean][] = [
    [undefined, false],
    [{}, true],
    [{ driver: 'gpu' }, true],
    [{ driver: 'nic' }, false],
    [{ pool: 'p' }, true],
    [{ driver: 'gpu', pool: 'q' }, false],
    [{ driver: 'gpu', pool: 'p', device: 'd' }, true],
    [{ driver: 'gpu', pool: 'p', device: 'e' }, false],
  ];
  for (const [selector, selected] of cases)
    it(`${JSON.stringify(selector)} ${selected ? 'selects' : 'leaves'} the device`, () =>
      assert.equal(ruleSelects(rule(selector), device), selected));

  it('add their taint to the devices they select, and leave other slices as they are', () => {
    const slice = (pool: string): ResourceSlice => ({
      metadata: { name: pool },
      spec: {
        driver: 'gpu',
        pool: { name: pool, generation: 1, resourceSliceCount: 1 },
        devices: [{ name: 'd', taints: [{ key: 'own', effect: 'None' }] }, { name: 'e' }],
      },
    });
    const slices = [slice('p'), slice('q')];
    const [first, second] = withRuleTaints(slices, [rule({ pool: 'p', device: 'd' })]);
    const keys = first!.spec.devices!.map(({ taints = [] }) => taints.map(({ key }) => key));
    assert.deepEqual(keys, [['own', 'broken'], []]);
    assert.equal(second, slices[1]);
    assert.equal(withRuleTaints(slices, []), slices);
  });
});
