import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setResourceClaimDefaults } from '../defaults/cluster.ts';
import { Field } from '../field-error.ts';
import type { DeviceClaim, DeviceClassSpec, ResourceClaim, ResourceClaimStatus } from '../gen/resource-v1.ts';
import { dropStatusOfReturnedDevices, validateResourceClaimStatusUpdate } from './resource-claim-status.ts';
import { validateDeviceClass, validateResourceClaim } from './resource-claim.ts';

function complaints(check: (field: Field) => void): string[] {
  const field = Field.root();
  check(field);
  return field.errors.map(({ field: at, text }) => `${at}: ${text}`);
}

/** Asserts that each error begins with the expected text, and that there are no others. */
function assertComplaints(found: readonly string[], wanted: readonly string[]): void {
  const begins = found.map((text, index) => (text.startsWith(wanted[index] ?? ' ') ? wanted[index] : text));
  assert.deepEqual(begins, wanted);
}

const numbers = `[${Array.from({ length: 100 }, (_, index) => index).join(',')}]`;
const countsLong = ['a', 'b', 'c', 'd'].reduceRight((body, name) => `${numbers}.all(${name}, ${body})`, 'a + d >= 0');

describe('device classes', () => {
  const opaque = { driver: 'gpu.example', parameters: { a: 1 } };
  const cases: readonly [string, DeviceClassSpec, readonly string[]][] = [
    ['of nothing', {}, []],
    ['with a selector', { selectors: [{ cel: { expression: 'device.driver == "gpu.example"' } }] }, []],
    ['with settings', { config: [{ opaque }] }, []],
    ['with a large number', { config: [{ opaque: { ...opaque, parameters: { a: 2n ** 63n } as never } }] }, []],
    ['for a resource', { extendedResourceName: 'example.com/gpu' }, []],
    ['for no extended resource', { extendedResourceName: 'cpu' }, ['spec.extendedResourceName: Invalid value: "cpu"']],
    ['for one of ours', { extendedResourceName: 'kubernetes.io/gpu' }, ['spec.extendedResourceName: Invalid value']],
    ['with an empty selector', { selectors: [{}] }, ['spec.selectors[0].cel: Required value']],
    [
      'with a selector that is no expression',
      { selectors: [{ cel: { expression: 'device.' } }] },
      ['spec.selectors[0].cel.expression: Invalid value: "device.": compilation failed'],
    ],
    [
      'with a selector that is no question',
      { selectors: [{ cel: { expression: 'device.driver' } }] },
      ['spec.selectors[0].cel.expression: Invalid value: "device.driver": must evaluate to bool'],
    ],
    [
      'with a selector that looks at all there may be',
      {
        selectors: [
          {
            cel: {
              expression:
                'device.attributes.all(d, device.attributes[d].all(n, string(device.attributes[d][n]).matches("^[a-z]*$")))',
            },
          },
        ],
      },
      [],
    ],
    [
      'with a selector that counts long',
      { selectors: [{ cel: { expression: countsLong } }] },
      ['spec.selectors[0].cel.expression: Forbidden: too complex, exceeds cost limit'],
    ],
    [
      'with too many selectors',
      { selectors: Array.from({ length: 33 }, () => ({ cel: { expression: 'true' } })) },
      ['spec.selectors: Too many: 33: must have at most 32 items'],
    ],
    [
      'with a selector and settings of too many bytes, though not too many characters',
      {
        selectors: [{ cel: { expression: `device.driver == "${'ä'.repeat(6_000)}"` } }],
        config: [{ opaque: { ...opaque, parameters: { a: 'ä'.repeat(6_000) } } }],
      },
      [
        'spec.selectors[0].cel.expression: Too long: may not be more than 10240 bytes',
        'spec.config[0].opaque.parameters: Too long: may not be more than 10240 bytes',
      ],
    ],
    ['with settings for nobody', { config: [{}] }, ['spec.config[0].opaque: Required value']],
    [
      'with settings that are no object',
      { config: [{ opaque: { ...opaque, parameters: [] as never } }] },
      ['spec.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object'],
    ],
  ];
  for (const [name, spec, wanted] of cases)
    it(`${name}: ${wanted.length === 0 ? 'taken' : 'refused'}`, () => {
      const metadata = { name: 'c' };
      assertComplaints(
        complaints((field) => validateDeviceClass({ metadata, spec }, field)),
        wanted,
      );
      // An unchanged value is valid on updates, except the name of the extended resource.
      const kept = wanted.filter((text) => text.startsWith('spec.extendedResourceName'));
      assertComplaints(
        complaints((field) => validateDeviceClass({ metadata, spec }, field, { metadata, spec })),
        kept,
      );
    });
});

describe('resource claims', () => {
  const exactly = { deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 1 };
  const one = { name: 'a', exactly };
  const either = { name: 'b', firstAvailable: [{ ...exactly, name: 'big' }] };
  const at = 'spec.devices.requests[0]';
  const cases: readonly [string, DeviceClaim, readonly string[]][] = [
    ['of one request', { requests: [one] }, []],
    ['of alternatives', { requests: [either] }, []],
    ['of nothing in particular', { requests: [{ name: 'a' }] }, [`${at}: Required value: exactly one of`]],
    ['of both', { requests: [{ ...either, exactly }] }, [`${at}: Invalid value: null: exactly one of`]],
    ['twice the same', { requests: [one, one] }, ['spec.devices.requests[1]: Duplicate value: "a"']],
    [
      'of no class, in no way',
      { requests: [{ name: 'A', exactly: { deviceClassName: '' } }] },
      [
        `${at}.name: Invalid value: "A"`,
        `${at}.exactly.deviceClassName: Required`,
        `${at}.exactly.allocationMode: Unsup`,
      ],
    ],
    [
      'of none',
      { requests: [{ name: 'a', exactly: { ...exactly, count: 0 } }] },
      [`${at}.exactly.count: Invalid value: 0: must be greater than zero`],
    ],
    [
      'of all, and of one',
      { requests: [{ name: 'a', exactly: { ...exactly, allocationMode: 'All' } }] },
      [`${at}.exactly.count: Invalid value: 1: must not be specified when allocationMode is 'All'`],
    ],
    [
      'with tolerations',
      {
        requests: [
          { name: 'a', exactly: { ...exactly, tolerations: [{ operator: 'Exists', value: 'v' }, { operator: 'In' }] } },
        ],
      },
      [
        `${at}.exactly.tolerations[0].value: Invalid value: "v": must be empty`,
        `${at}.exactly.tolerations[1].operator: Unsupported value: "In"`,
      ],
    ],
    [
      'with constraints',
      {
        requests: [one, either],
        constraints: [
          { matchAttribute: 'gpu.example/numa', requests: ['a', 'b/big'] },
          { matchAttribute: 'numa', requests: ['c', 'b/small'] },
          {},
        ],
      },
      [
        'spec.devices.constraints[1].requests[0]: Invalid value: "c": must be the name of a request',
        'spec.devices.constraints[1].requests[1]: Invalid value: "b/small": must be the name',
        'spec.devices.constraints[1].matchAttribute: Invalid value: "numa": a fully qualified name',
        'spec.devices.constraints[2]: Required value: exactly one of',
      ],
    ],
    [
      'with settings',
      { requests: [one], config: [{ requests: ['a', 'a'], opaque: { driver: '', parameters: {} } }] },
      [
        'spec.devices.config[0].requests[1]: Duplicate value: "a"',
        'spec.devices.config[0].opaque.driver: Required value',
      ],
    ],
  ];
  for (const [name, devices, wanted] of cases)
    it(`${name}: ${wanted.length === 0 ? 'taken' : 'refused'}`, () => {
      const claim: ResourceClaim = { metadata: { name: 'c', namespace: 'n' }, spec: { devices } };
      assertComplaints(
        complaints((field) => validateResourceClaim(claim, field)),
        wanted,
      );
    });

  const result = { request: 'a', driver: 'gpu.example', pool: 'node-1', device: 'gpu-0' };
  const allocation = { devices: { results: [result] } };
  const pod = { resource: 'pods', name: 'p', uid: 'u' };
  const { request: _, ...device } = result;
  const statuses: [string, ResourceClaimStatus, ResourceClaimStatus, readonly string[]][] = [
    ['allocated and reserved', {}, { allocation, reservedFor: [pod] }, []],
    ['reported on', { allocation }, { allocation, devices: [{ ...device, data: {} as never }] }, []],
    [
      'reserved before it is allocated',
      {},
      { reservedFor: [pod, { ...pod, name: '' }] },
      [
        'status.reservedFor[1].name: Required value',
        'status.reservedFor[1]: Duplicate value: "u"',
        'status.reservedFor: Forbidden: may not be specified',
      ],
    ],
    [
      'allocated anew',
      { allocation },
      { allocation: { devices: { results: [{ ...result, device: 'gpu-1' }] } } },
      ['status.allocation: Invalid value'],
    ],
    [
      'allocated for nobody',
      {},
      {
        allocation: {
          devices: { results: [{ ...result, request: 'z', shareID: 'X', bindingConditions: ['example/ok'] }] },
        },
      },
      [
        'status.allocation.devices.results[0].request: Invalid value: "z"',
        'status.allocation.devices.results[0].bindingFailureConditions: Invalid value: null',
        'status.allocation.devices.results[0].shareID: Invalid value: "X": error validating uid: invalid UUID length: 1',
      ],
    ],
    [
      'allocated with tolerations of any kind',
      {},
      { allocation: { devices: { results: [{ ...result, tolerations: [{ operator: 'In' }, {}] }] } } },
      [],
    ],
    [
      'reported on by another driver',
      { allocation },
      { allocation, devices: [{ ...device, driver: 'other.example', networkData: { ips: ['10.0.0.1'] } }] },
      [
        'status.devices[0]: Invalid value: {"Driver":"other.example","Pool":"node-1","Device":"gpu-0","ShareID":""}: must be an allocated device',
        'status.devices[0].networkData.ips[0]: Invalid value: "10.0.0.1"',
      ],
    ],
    [
      'reported on with addresses',
      { allocation },
      { allocation, devices: [{ ...device, networkData: { ips: ['10.9.8.7/24', '2001:db8::1/64', '::1/128'] } }] },
      [],
    ],
    [
      'reported on with addresses in other forms',
      { allocation },
      {
        allocation,
        devices: [{ ...device, networkData: { ips: ['2001:DB8::1/64', '2001:db8:0::1/64', '::ffff:10.9.8.7/120'] } }],
      },
      [
        'status.devices[0].networkData.ips[0]: Invalid value: "2001:DB8::1/64": must be in canonical form ("2001:db8::1/64")',
        'status.devices[0].networkData.ips[1]: Invalid value: "2001:db8:0::1/64": must be in canonical form ("2001:db8::1/64")',
        'status.devices[0].networkData.ips[2]: Invalid value: "::ffff:10.9.8.7/120": must be in canonical form ("10.9.8.7/24")',
      ],
    ],
  ];
  const ids: readonly [shareID: string, text: string][] = [
    ['d3b07384-d9a0-4c9b-8f1e-0a1b2c3d4e5g', 'error validating uid: invalid UUID format'],
    ['d3b07384d9a04c9b8f1e0a1b2c3d4e5f', 'uid must be in RFC 4122 normalized form'],
    ['D3b07384-d9a0-4c9b-8f1e-0a1b2c3d4e5f', 'uid must be in RFC 4122 normalized form'],
    ['(d3b07384-d9a0-4c9b-8f1e-0a1b2c3d4e5f)', 'error validating uid: invalid bracketed UUID format'],
    ['urn:name:d3b07384-d9a0-4c9b-8f1e-0a1b2c3d4e5f', 'error validating uid: invalid urn prefix: "urn:name:"'],
  ];
  for (const [shareID, text] of ids)
    statuses.push([
      `allocated in the share ${shareID}`,
      {},
      { allocation: { devices: { results: [{ ...result, shareID }] } } },
      [`status.allocation.devices.results[0].shareID: Invalid value: "${shareID}": ${text}`],
    ]);
  for (const [name, before, after, wanted] of statuses)
    it(`an updated claim ${name}: ${wanted.length === 0 ? 'accepted' : 'refused'}`, () => {
      const claim = { metadata: { name: 'c', namespace: 'n' }, spec: { devices: { requests: [one] } } };
      assertComplaints(
        complaints((field) =>
          validateResourceClaimStatusUpdate({ ...claim, status: after }, { ...claim, status: before }, field),
        ),
        wanted,
      );
    });

  it('tolerations without an operator compare values, also in the allocation', () => {
    const given: ResourceClaim = {
      metadata: { name: 'c', namespace: 'n' },
      spec: { devices: { requests: [one] } },
      status: { allocation: { devices: { results: [{ ...result, tolerations: [{ key: 'a' }] }] } } },
    };
    setResourceClaimDefaults(given);
    assert.equal(given.status?.allocation?.devices?.results?.[0]?.tolerations?.[0]?.operator, 'Equal');
  });

  it('a deleted claim gets no new consumers', () => {
    const metadata = { name: 'c', namespace: 'n', deletionTimestamp: '2026-01-01T00:00:00Z' };
    const claim = { metadata, spec: { devices: { requests: [one] } } };
    const old = { ...claim, status: { allocation, reservedFor: [pod] } };
    const next = { ...claim, status: { allocation, reservedFor: [pod, { ...pod, uid: 'v' }] } };
    const check = (after: ResourceClaim) => complaints((field) => validateResourceClaimStatusUpdate(after, old, field));
    assertComplaints(check(next), ['status.reservedFor: Forbidden: new entries may not be added']);
    assertComplaints(check({ ...claim, status: { allocation } }), []);
  });

  it("the drivers' status of a device is removed with its allocation", () => {
    const claim = { metadata: { name: 'c', namespace: 'n' }, spec: { devices: { requests: [one] } } };
    const old = { ...claim, status: { allocation, devices: [device] } };
    const returned: ResourceClaim = { ...claim, status: { devices: [device] } };
    dropStatusOfReturnedDevices(returned, old);
    assert.deepEqual(returned.status, {});
    const kept: ResourceClaim = {
      ...claim,
      status: { allocation, devices: [device, { ...device, device: 'strange' }] },
    };
    dropStatusOfReturnedDevices(kept, old);
    assert.equal(kept.status?.devices?.length, 2, 'what was never given is for validation');
  });
});
