import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field } from '../field-error.ts';
import type {
  AllocatedDeviceStatus,
  DeviceClaim,
  ResourceClaim,
  ResourceClaimStatus,
  ResourceSlice,
  ResourceSliceSpec,
} from '../gen/resource-v1.ts';
import { validateDeviceClass, validateResourceClaim, validateResourceSliceUpdate } from './resource-claim.ts';
import { dropStatusOfReturnedDevices, validateResourceClaimStatusUpdate } from './resource-claim-status.ts';

for (const [name, isRefused] of [
  [undefined, false],
  ['example.com/gpu', false],
  ['', true],
  ['gpu', true],
  ['cpu', true],
  ['kubernetes.io/gpu', true],
  ['requests.example.com/gpu', true],
  ['example.com/a/b', true],
] as const)
  test(`a device class that stands for ${name ?? 'nothing'} is ${isRefused ? 'refused' : 'taken'}`, () => {
    const field = Field.root();
    const spec = name === undefined ? {} : { extendedResourceName: name };
    validateDeviceClass({ metadata: { name: 'c' }, spec }, field);
    assert.deepEqual(
      field.errors.map(({ field: at }) => at),
      isRefused ? ['spec.extendedResourceName'] : [],
    );
  });

function complaints(check: (field: Field) => void): string[] {
  const field = Field.root();
  check(field);
  return field.errors.map((error) => `${error.field}: ${error.text}`);
}

const asking = (devices: DeviceClaim): ResourceClaim => ({
  metadata: { name: 'c' },
  spec: {
    devices: {
      requests: [
        { name: 'r', exactly: { deviceClassName: 'k', allocationMode: 'ExactCount', count: 1 } },
        { name: 'or', firstAvailable: [{ name: 'a', deviceClassName: 'k', allocationMode: 'All' }] },
      ],
      ...devices,
    },
  },
});
const opaque = { driver: 'd.example.com', parameters: { a: 1 } };
const NOT_A_REQUEST =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

test('what a claim asks beside its requests refers to them', () => {
  const rows: readonly (readonly [DeviceClaim, string[]])[] = [
    [{ constraints: [{ matchAttribute: 'x.io/numa', requests: ['r', 'or/a'] }], config: [{ opaque }] }, []],
    [
      { constraints: [{ distinctAttribute: 'numa', requests: ['r', 'r'] }, {}] },
      [
        'spec.devices.constraints[0].requests[1]: Duplicate value: "r"',
        'spec.devices.constraints[0].distinctAttribute: Invalid value: "numa": must include a domain',
        'spec.devices.constraints[1]: Required value: exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
      ],
    ],
    [
      { config: [{ requests: ['x', 'r/a', 'or/a/b'] }] },
      [
        `spec.devices.config[0].requests[0]: Invalid value: "x": ${NOT_A_REQUEST}`,
        `spec.devices.config[0].requests[1]: Invalid value: "r/a": ${NOT_A_REQUEST}`,
        `spec.devices.config[0].requests[2]: Invalid value: "or/a/b": ${NOT_A_REQUEST}`,
        'spec.devices.config[0].opaque: Required value',
      ],
    ],
    [
      { config: [{ opaque: { driver: '', parameters: [] as object as typeof opaque.parameters } }] },
      [
        'spec.devices.config[0].opaque.driver: Required value',
        'spec.devices.config[0].opaque.parameters: Invalid value: []: must be a valid JSON object',
      ],
    ],
    [
      {
        requests: [
          {
            name: 'r',
            firstAvailable: ['a', 'a', 'B'].map((name) => ({ name, deviceClassName: 'k', selectors: [{}] })),
          },
        ],
      },
      [
        'spec.devices.requests[0].firstAvailable[0].selectors[0].cel: Required value',
        'spec.devices.requests[0].firstAvailable[1].name: Duplicate value: "a"',
        'spec.devices.requests[0].firstAvailable[1].selectors[0].cel: Required value',
        `spec.devices.requests[0].firstAvailable[2].name: Invalid value: "B": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
        'spec.devices.requests[0].firstAvailable[2].selectors[0].cel: Required value',
      ],
    ],
  ];
  for (const [devices, expected] of rows)
    assert.deepEqual(
      complaints((field) => validateResourceClaim(asking(devices), field)),
      expected,
    );
});

const results = ['one', 'two'].map((device) => ({ request: 'r', driver: 'd.x', pool: 'p', device }));
const allocation = { devices: { results } };
const user = { resource: 'pods', name: 'p', uid: 'u' };
const device = (more: Partial<AllocatedDeviceStatus> = {}): AllocatedDeviceStatus => ({
  driver: 'd.x',
  pool: 'p',
  device: 'one',
  ...more,
});
const become = (status: ResourceClaimStatus, before: ResourceClaimStatus = {}, metadata: object = {}): string[] => {
  const claim = asking({});
  return complaints((field) =>
    validateResourceClaimStatusUpdate(
      { ...claim, metadata: { ...claim.metadata, ...metadata }, status },
      { ...claim, status: before },
      field,
    ),
  );
};

test("what a claim's status says holds together", () => {
  const networkData = { interfaceName: 'n', ips: ['10.9.8.0/24', '2001:db8::/64'], hardwareAddress: 'ea:9f' };
  const reserved = 'status.reservedFor';
  const rows: readonly (readonly [string[], string[]])[] = [
    [become({ allocation, reservedFor: [user], devices: [device({ networkData, data: {} })] }), []],
    [become({ reservedFor: [user] }), [`${reserved}: Forbidden: may not be specified when \`allocated\` is not set`]],
    [
      become({ allocation, reservedFor: [user, { ...user, name: '' }] }),
      [`${reserved}[1].name: Required value`, `${reserved}[1]: Duplicate value: "u"`],
    ],
    [
      become({ allocation, reservedFor: [user] }, { allocation, reservedFor: [user] }, { deletionTimestamp: 'now' }),
      [],
    ],
    [
      become({ allocation, reservedFor: [user] }, { allocation }, { deletionTimestamp: 'now' }),
      [
        `${reserved}: Forbidden: new entries may not be added while \`deallocationRequested\` or \`deletionTimestamp\` are set`,
      ],
    ],
    [
      become({ allocation, reservedFor: Array.from({ length: 257 }, (_, uid) => ({ ...user, uid: `${uid}` })) }),
      [`${reserved}: Too many: 257: must have at most 256 items`],
    ],
    [
      become({ allocation: { devices: { results: [{ ...results[0]!, request: 'x', pool: '', shareID: '1' }] } } }),
      [
        `status.allocation.devices.results[0].request: Invalid value: "x": ${NOT_A_REQUEST}`,
        'status.allocation.devices.results[0].pool: Required value',
        'status.allocation.devices.results[0].shareID: Invalid value: "1": uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters',
      ],
    ],
    [
      become({
        allocation: {
          devices: {
            config: [
              { source: '', opaque },
              { source: 'X', opaque },
            ],
          },
        },
      }),
      [
        'status.allocation.devices.config[0].source: Required value',
        'status.allocation.devices.config[1].source: Unsupported value: "X": supported values: "FromClaim", "FromClass"',
      ],
    ],
    [
      become({ devices: [device()] }),
      ['status.devices[0]: Invalid value: "d.x/p/one": must be an allocated device in the claim'],
    ],
    [
      become({
        allocation,
        devices: [device(), device({ networkData: { ips: ['10.0.0.1', '1.1.1.1/8', '1.1.1.1/8'] } })],
      }),
      [
        'status.devices[1].networkData.ips[0]: Invalid value: "10.0.0.1": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)',
        'status.devices[1].networkData.ips[2]: Duplicate value: "1.1.1.1/8"',
        'status.devices[1]: Duplicate value: "d.x/p/one"',
      ],
    ],
  ];
  for (const [told, expected] of rows) assert.deepEqual(told, expected);
  const [immutable = '', ...others] = become({ allocation: { devices: {} } }, { allocation });
  assert.match(immutable, /^status\.allocation: Invalid value: .*: field is immutable$/);
  assert.deepEqual(others, []);
});

test('what drivers said of devices goes with the devices', () => {
  const claim = asking({});
  const old = { ...claim, status: { allocation, devices: [device()] } };
  const draft = { ...claim, status: { devices: [device()] } as ResourceClaimStatus };
  dropStatusOfReturnedDevices(draft, old);
  assert.deepEqual(draft.status, {});
  const kept = { ...claim, status: { allocation, devices: [device(), device({ device: 'unknown' })] } };
  dropStatusOfReturnedDevices(kept, old);
  assert.equal(kept.status.devices.length, 2, 'what was never given is for validation');
});

test('a slice stays with its driver, pool and node, and has devices or counters', () => {
  const slice = (spec: Partial<ResourceSliceSpec> = {}): ResourceSlice => ({
    metadata: { name: 's' },
    spec: { driver: 'd.x', pool: { name: 'p', generation: 1, resourceSliceCount: 1 }, nodeName: 'n', ...spec },
  });
  const many = (count: number, more: object = {}) =>
    Array.from({ length: count }, (_, i) => ({ name: `d${i}`, ...more }));
  const taints = [{ key: 'k', effect: 'NoSchedule' }];
  const rows: readonly (readonly [Partial<ResourceSliceSpec>, string[]])[] = [
    [{ devices: many(128) }, []],
    [{ devices: many(129) }, ['spec.devices: Too many: 129: must have at most 128 items']],
    [{ devices: many(65, { taints }) }, ['spec.devices: Too many: 65: must have at most 64 items']],
    [
      { devices: many(1), sharedCounters: [] },
      ['spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed'],
    ],
    [{ driver: 'e.x' }, ['spec.driver: Invalid value: "e.x": field is immutable']],
    [{ nodeName: 'm' }, ['spec.nodeName: Invalid value: "m": field is immutable']],
    [
      { pool: { name: 'q', generation: 1, resourceSliceCount: 1 } },
      ['spec.pool.name: Invalid value: "q": field is immutable'],
    ],
  ];
  for (const [spec, expected] of rows)
    assert.deepEqual(
      complaints((field) => validateResourceSliceUpdate(slice(spec), slice(), field)),
      expected,
    );
});
