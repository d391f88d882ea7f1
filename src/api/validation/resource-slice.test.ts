import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Field } from '../field-error.ts';
import type { Device, ResourceSlice, ResourceSliceSpec } from '../gen/resource-v1.ts';
import { validateDeviceTaintRule, validateDeviceTaintRuleStatus } from './device-taint-rule.ts';
import { validateResourceSlice } from './resource-slice.ts';

const whole: ResourceSliceSpec = {
  driver: 'gpu.example',
  pool: { name: 'node-1', generation: 1, resourceSliceCount: 1 },
  nodeName: 'node-1',
};

function complaints(spec: ResourceSliceSpec, old?: ResourceSliceSpec): string[] {
  const slice = (its: ResourceSliceSpec): ResourceSlice => ({ metadata: { name: 's' }, spec: its });
  const field = Field.root();
  validateResourceSlice(slice(spec), field, old && slice(old));
  return field.errors.map(({ field: at, text }) => `${at}: ${text}`);
}

function assertComplaints(found: readonly string[], wanted: readonly string[]): void {
  const begins = found.map((text, index) => (text.startsWith(wanted[index] ?? ' ') ? wanted[index] : text));
  assert.deepEqual(begins, wanted);
}

const verdict = (wanted: readonly string[]): string => (wanted.length === 0 ? 'taken' : 'refused');

describe('resource slices', () => {
  const { nodeName: _, ...nowhere } = whole;
  const term = { matchExpressions: [{ key: 'a', operator: 'Exists' }] };
  const counters = { memory: { value: '8Gi' } };
  const cases: readonly [string, ResourceSliceSpec, readonly string[]][] = [
    ['of a node', whole, []],
    ['of all nodes', { ...nowhere, allNodes: true }, []],
    ['of some nodes', { ...nowhere, nodeSelector: { nodeSelectorTerms: [term] } }, []],
    ['of no node', nowhere, ['spec: Required value: exactly one of']],
    ['of not all nodes', { ...whole, allNodes: false }, ['spec.allNodes: Invalid value: false']],
    ['of one and of all nodes', { ...whole, allNodes: true }, ['spec: Invalid value: "{`nodeName`, `allNodes`}"']],
    [
      'of two kinds of nodes',
      { ...nowhere, nodeSelector: { nodeSelectorTerms: [term, term] } },
      [
        'spec.nodeSelector.nodeSelectorTerms: Invalid value: [{"MatchExpressions":[{"Key":"a","Operator":"Exists","Values":null}],"MatchFields":null}',
      ],
    ],
    [
      'of nodes that nothing selects',
      { ...nowhere, nodeSelector: {} as ResourceSliceSpec['nodeSelector'] & object },
      [
        'spec.nodeSelector.nodeSelectorTerms: Required value: must have at least one node selector term',
        'spec.nodeSelector.nodeSelectorTerms: Invalid value: null: must have exactly one node selector term',
      ],
    ],
    [
      'of not all nodes, and of those that nothing selects',
      { ...nowhere, allNodes: false, nodeSelector: { nodeSelectorTerms: [] } },
      [
        'spec.nodeSelector.nodeSelectorTerms: Required value',
        'spec.nodeSelector.nodeSelectorTerms: Invalid value: []: must have',
        'spec.allNodes: Invalid value: false',
      ],
    ],
    [
      'of a broken pool',
      { ...whole, pool: { name: 'a//b', generation: -1, resourceSliceCount: 0 } },
      [
        'spec.pool.name: Invalid value: ""',
        'spec.pool.resourceSliceCount: Invalid value: 0',
        'spec.pool.generation: Invalid value: -1',
      ],
    ],
    ['of counters', { ...whole, sharedCounters: [{ name: 'card', counters }] }, []],
    [
      'of counters and devices',
      { ...whole, devices: [], sharedCounters: [{ name: 'card', counters: {} }] },
      ['spec: Invalid value: "": only one of', 'spec.sharedCounters[0].counters: Required value'],
    ],
    [
      'of too many devices',
      { ...whole, devices: Array.from({ length: 129 }, (_, index) => ({ name: `d${index}` })) },
      ['spec.devices: Too many: 129: must have at most 128 items'],
    ],
    [
      'of too many devices that take from counters',
      {
        ...whole,
        devices: Array.from({ length: 65 }, (_, index) => ({
          name: `d${index}`,
          consumesCounters: [{ counterSet: 'card', counters }],
        })),
      },
      ['spec.devices: Too many: 65: must have at most 64 items'],
    ],
  ];
  for (const [name, spec, wanted] of cases)
    it(`${name}: ${verdict(wanted)}`, () => assertComplaints(complaints(spec), wanted));

  it('driver, pool and node of a slice are immutable', () => {
    const moved = { ...whole, driver: 'b', nodeName: 'node-2', pool: { ...whole.pool, name: 'c' } };
    assertComplaints(complaints(moved, whole), ['spec.pool.name', 'spec.driver', 'spec.nodeName']);
  });
});

describe('devices', () => {
  const shared = { name: 'd', allowMultipleAllocations: true };
  const place = 'spec.devices[0]';
  const policy = `${place}.capacity[memory].requestPolicy`;
  const capacityOf = (requestPolicy: object): Device['capacity'] => ({ memory: { value: '10Gi', requestPolicy } });
  const cases: readonly [string, Device, readonly string[]][] = [
    ['with attributes', { name: 'd', attributes: { a: { int: 1 }, 'x.example/b': { version: '1.2.3-a.1' } } }, []],
    ['with a capacity', { name: 'd', capacity: { memory: { value: '1Gi' } } }, []],
    ['without a name', { name: '' }, [`${place}.name: Invalid value: "": a lowercase RFC 1123 label`]],
    [
      'with an attribute of no value',
      { name: 'd', attributes: { a: {} } },
      [`${place}.attributes[a]: Invalid value: ""`],
    ],
    [
      'with an attribute of two values',
      { name: 'd', attributes: { a: { int: 1, bool: true } } },
      [
        `${place}.attributes[a]: Invalid value: {"IntValue":1,"BoolValue":true,"StringValue":null,"VersionValue":null,"IntValues":null,"BoolValues":null,"StringValues":null,"VersionValues":null}: exactly one value must be specified`,
      ],
    ],
    [
      'with attributes of wrong names',
      { name: 'd', attributes: { 'a-b': { int: 1 }, '/c': { int: 1 }, 'x/y/z': { int: 1 } } },
      [
        `${place}.attributes: Invalid value: "a-b": a valid C identifier`,
        `${place}.attributes: Invalid value: "": the domain must not be empty`,
      ],
    ],
    [
      'with an attribute of a wrong version',
      { name: 'd', attributes: { a: { version: 'v1' } } },
      [`${place}.attributes[a].version: Invalid value: "v1": must be a string compatible with semver.org`],
    ],
    [
      'with an attribute of too many bytes, though not too many characters',
      { name: 'd', attributes: { a: { string: 'ä'.repeat(33) } } },
      [`${place}.attributes[a].string: Too long: may not be more than 64 bytes`],
    ],
    [
      'with a list of nothing',
      { name: 'd', attributes: { a: { strings: [] } } },
      [`${place}.attributes[a].strings: Invalid value: []: must not be empty`],
    ],
    [
      'with too much to say',
      {
        name: 'd',
        attributes: Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`a${index}`, { int: 1 }])),
      },
      [`${place}: Invalid value: 33: the total number of attributes and capacities must not exceed 32`],
    ],
    [
      'with a policy though it is not shared',
      { name: 'd', capacity: capacityOf({}) },
      [`${policy}: Forbidden: allowMultipleAllocations must be true`],
    ],
    [
      'shared in steps',
      { ...shared, capacity: capacityOf({ default: '2Gi', validRange: { min: '1Gi', max: '8Gi', step: '1Gi' } }) },
      [],
    ],
    [
      'with capacities and counters of wrong names',
      {
        name: 'd',
        capacity: { 'a-b': { value: '1' }, [`x/${'y'.repeat(100)}`]: { value: '1' } },
        consumesCounters: [
          { counterSet: '', counters: { M: { value: '1' } } },
          { counterSet: 'c', counters: { ['N'.repeat(64)]: { value: '1' } } },
        ],
      },
      [
        `${place}.capacity: Invalid value: "a-b": a valid C identifier`,
        `${place}.capacity: Too long: may not be more than 32 bytes`,
        `${place}.consumesCounters[0].counterSet: Required value`,
        `${place}.consumesCounters[0].counters: Invalid value: "M"`,
        `${place}.consumesCounters[1].counters: Invalid value: "NNN`,
        `${place}.consumesCounters[1].counters: Invalid value: "NNN`,
      ],
    ],
    [
      'shared from too little on, in a large step',
      { ...shared, capacity: capacityOf({ default: '1Gi', validRange: { min: '2Gi', step: '9Gi' } }) },
      [
        `${policy}.validRange.min: Invalid value: "1Gi": default is less than min: 2Gi`,
        `${policy}.validRange.step: Invalid value: "9Gi": one step 11Gi is larger than capacity value: 10Gi`,
        `${policy}.validRange.step: Invalid value: "1Gi": value is not a multiple`,
      ],
    ],
    [
      'shared up to too little',
      { ...shared, capacity: capacityOf({ default: '3Gi', validRange: { min: '1Gi', max: '2Gi' } }) },
      [`${policy}.validRange.max: Invalid value: "3Gi": default is more than max: 2Gi`],
    ],
    [
      'shared in wrong steps',
      { ...shared, capacity: capacityOf({ default: '2Gi', validRange: { min: '1Gi', max: '12Gi', step: '3Gi' } }) },
      [
        `${policy}.validRange.max: Invalid value: "12Gi": max is larger than capacity value: 10Gi`,
        `${policy}.validRange.step: Invalid value: "2Gi": value is not a multiple`,
        `${policy}.validRange.step: Invalid value: "12Gi": value is not a multiple`,
      ],
    ],
    [
      'shared by wrong values',
      { ...shared, capacity: capacityOf({ default: '3Gi', validValues: ['2Gi', '1Gi', '1024Mi', '20Gi'] }) },
      [
        `${policy}.validValues[1]: Invalid value: "1Gi": values must be sorted`,
        `${policy}.validValues[3]: Invalid value: "20Gi": option is larger`,
        `${policy}.validValues[2]: Duplicate value`,
        `${policy}.validValues: Invalid value: "3Gi": default value is not valid`,
      ],
    ],
    [
      'with wrong taints',
      {
        name: 'd',
        taints: [
          { key: 'a', effect: 'NoSchedule' },
          { key: '', effect: 'PreferNoSchedule' },
        ],
      },
      [
        `${place}.taints[1].key: Invalid value: ""`,
        `${place}.taints[1].key: Invalid value: ""`,
        `${place}.taints[1].effect: Unsupported value: "PreferNoSchedule"`,
      ],
    ],
    [
      'with binding conditions alone',
      { name: 'd', bindingConditions: ['a', 'a'] },
      [
        `${place}.bindingConditions[1]: Duplicate value: "a"`,
        `${place}.bindingFailureConditions: Invalid value: null: bindingFailureConditions are required`,
      ],
    ],
    [
      'of a node of its own, with binding conditions that overlap',
      { name: 'd', nodeName: 'n', bindingConditions: ['a', 'a'], bindingFailureConditions: ['b', 'a', 'a'] },
      [
        `${place}: Invalid value: null: \`nodeName\``,
        `${place}.bindingConditions[1]: Duplicate value: "a"`,
        `${place}.bindingFailureConditions[1]: Invalid value: "a": bindingFailureConditions must not overlap`,
        `${place}.bindingFailureConditions[2]: Duplicate value: "a"`,
        `${place}.bindingFailureConditions[2]: Invalid value: "a": bindingFailureConditions must not overlap`,
      ],
    ],
    [
      'with lists of nothing and of wrong versions',
      { name: 'd', attributes: { a: { strings: [], versions: ['1'], bools: [] } } },
      [
        `${place}.attributes[a].bools: Invalid value: []`,
        `${place}.attributes[a].strings: Invalid value: []`,
        `${place}.attributes[a].versions[0]: Invalid value: "1"`,
        `${place}.attributes[a]: Invalid value: {"IntValue":null`,
      ],
    ],
    [
      'with 49 values in lists',
      { name: 'd', attributes: { a: { ints: Array.from({ length: 48 }, () => 1) }, b: { int: 1 } } },
      [`${place}: Invalid value: 49: the total number of attribute values must not exceed 48`],
    ],
    ['of a node of its own', { name: 'd', nodeName: 'n' }, [`${place}: Invalid value: null: \`nodeName\``]],
  ];
  for (const [name, device, wanted] of cases)
    it(`${name}: ${verdict(wanted)}`, () => {
      assertComplaints(complaints({ ...whole, devices: [device] }), wanted);
      // Unchanged taints are not checked again on updates; everything else is.
      const kept = wanted.filter((text) => !text.includes('.taints'));
      assertComplaints(complaints({ ...whole, devices: [device] }, { ...whole, devices: [device] }), kept);
    });

  it('a device that is no longer shared must not have a request policy', () => {
    const device = { name: 'd', allowMultipleAllocations: true, capacity: capacityOf({}) };
    const alone = { ...device, allowMultipleAllocations: false };
    assertComplaints(complaints({ ...whole, devices: [alone] }, { ...whole, devices: [device] }), [
      `${policy}: Forbidden: allowMultipleAllocations must be true`,
    ]);
  });

  it('a device must name its nodes when its slice does not', () => {
    const { nodeName: _, ...nowhere } = whole;
    const spec = { ...nowhere, perDeviceNodeSelection: true };
    assertComplaints(complaints({ ...spec, devices: [{ name: 'd', nodeName: 'n' }] }), []);
    assertComplaints(complaints({ ...spec, devices: [{ name: 'd' }] }), [`${place}: Required value`]);
    assertComplaints(complaints({ ...spec, devices: [{ name: 'd', nodeName: 'n', allNodes: true }] }), [
      `${place}: Invalid value: "{\`nodeName\`, \`allNodes\`}"`,
    ]);
  });
});

it('a device taint rule selects devices and has a taint', () => {
  const check = (spec: object): string[] => {
    const field = Field.root();
    validateDeviceTaintRule({ spec } as never, field);
    return field.errors.map(({ field: at }) => at);
  };
  const taint = { key: 'example.com/broken', effect: 'NoExecute' };
  assert.deepEqual(check({ taint, deviceSelector: { driver: 'gpu.example', pool: 'a/b', device: 'd' } }), []);
  assert.deepEqual(
    check({ taint: { ...taint, effect: '' }, deviceSelector: { driver: 'G!', pool: '', device: 'D' } }),
    ['spec.deviceSelector.driver', 'spec.deviceSelector.pool', 'spec.deviceSelector.device', 'spec.taint.effect'],
  );
});

it('conditions of a device taint rule are limited and validated', () => {
  const check = (conditions: readonly object[]): string[] => {
    const field = Field.root();
    validateDeviceTaintRuleStatus({ status: { conditions: conditions as never } }, field);
    return field.errors.map(({ field: at, text }) => `${at}: ${text}`);
  };
  const condition = {
    type: 'EvictionInProgress',
    status: 'False',
    reason: 'Completed',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  const several = (count: number): object[] =>
    Array.from({ length: count }, (_, index) => ({ ...condition, type: `T${index}` }));
  assertComplaints(check(several(8)), []);
  assertComplaints(check(several(9)), ['status.conditions: Too many: 9: must have at most 8 items']);
  assertComplaints(check([{ ...condition, status: 'Maybe', reason: '' }, condition]), [
    'status.conditions[0].status: Unsupported value: "Maybe"',
    'status.conditions[0].reason: Required value',
    'status.conditions[1].type: Duplicate value: "EvictionInProgress"',
  ]);
});
