/** Allocating devices that several claims share. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Node } from '../../../api/gen/core-v1.ts';
import { stored } from '../../../api/stored-fixture.ts';
import type { Device, DeviceClaim, ResourceClaim } from '../../../api/gen/resource-v1.ts';
import { allocateClaims } from './allocator.ts';
import { wantedClaim } from './claim-requests.ts';
import type { Amounts } from '../../devices/consumed-capacity.ts';
import { allDevices } from '../../devices/device-pools.ts';

const DRIVER = 'net.example.com';
const node = stored<Node>({ metadata: { name: 'a' } });

describe('allocating shares', () => {
  const shared = (name: string, more: Partial<Device> = {}): Device => ({
    name,
    allowMultipleAllocations: true,
    capacity: { memory: { value: '4Gi' } },
    attributes: { slot: { string: name } },
    ...more,
  });
  const request = (name: string, memory?: string, more = {}) => ({
    name,
    exactly: { deviceClassName: 'any', ...(memory !== undefined && { capacity: { requests: { memory } } }), ...more },
  });
  const allocate = (
    claims: DeviceClaim[],
    of: { devices?: Device[]; shares?: [string, Amounts][]; inUse?: string[]; counters?: string } = {},
  ): string => {
    const results = allocateClaims({
      node,
      pools: allDevices([
        {
          metadata: { name: 's' },
          spec: {
            driver: DRIVER,
            pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
            nodeName: 'a',
            devices: of.devices ?? [shared('x'), shared('y')],
            ...(of.counters !== undefined && {
              sharedCounters: [{ name: 'card', counters: { parts: { value: of.counters } } }],
            }),
          },
        },
      ]),
      inUse: new Set((of.inUse ?? []).map((name) => `${DRIVER}/p/${name}`)),
      shares: new Map((of.shares ?? []).map(([name, amounts]) => [`${DRIVER}/p/${name}`, amounts])),
      claims: claims.map((devices, at) => {
        const claim: ResourceClaim = { metadata: { name: `c${at}`, namespace: 'default' }, spec: { devices } };
        return wantedClaim(claim, (name) => ({ metadata: { name }, spec: {} }));
      }),
    });
    if (results === undefined) return 'none';
    return results
      .flatMap(({ devices }) => devices?.results ?? [])
      .map(
        ({ request: name, device, consumedCapacity }) => `${name}=${device}:${consumedCapacity?.['memory'] ?? 'whole'}`,
      )
      .join(' ');
  };
  const half = request('h', '2Gi');
  const most = request('m', '3Gi');
  const cases: [string, DeviceClaim[], Parameters<typeof allocate>[1], string][] = [
    ['a part', [{ requests: [half] }], {}, 'h=x:2Gi'],
    ['parts of one for two claims', [{ requests: [half] }, { requests: [half] }], {}, 'h=x:2Gi h=x:2Gi'],
    [
      'the next device where the first has too little',
      [{ requests: [most] }, { requests: [half] }],
      {},
      'm=x:3Gi h=y:2Gi',
    ],
    ['beside the shares of others', [{ requests: [half] }], { shares: [['x', { memory: '3Gi' }]] }, 'h=y:2Gi'],
    ['what is left beside them', [{ requests: [half] }], { shares: [['x', { memory: '2Gi' }]] }, 'h=x:2Gi'],
    ['nothing of one that is given as a whole', [{ requests: [half] }], { inUse: ['x'] }, 'h=y:2Gi'],
    ['all, where no amount is asked for', [{ requests: [request('a')] }, { requests: [half] }], {}, 'a=x:4Gi h=y:2Gi'],
    [
      'several parts for one request',
      [{ requests: [request('h', '2Gi', { count: 3 })] }],
      {},
      'h=x:2Gi h=x:2Gi h=y:2Gi',
    ],
    ['too many', [{ requests: [request('h', '2Gi', { count: 5 })] }], {}, 'none'],
    [
      'of different devices, where a constraint asks for it',
      [{ requests: [request('h', '1Gi', { count: 2 })], constraints: [{ distinctAttribute: `${DRIVER}/slot` }] }],
      {},
      'h=x:1Gi h=y:1Gi',
    ],
    [
      'for administration, without taking any',
      [{ requests: [request('w', '4Gi', { adminAccess: true }), most] }],
      {},
      'w=x:whole m=x:3Gi',
    ],
    [
      'none of a device that is shared no more',
      [{ requests: [half] }],
      { devices: [shared('x', { allowMultipleAllocations: false })], shares: [['x', { memory: '1Gi' }]] },
      'none',
    ],
    [
      'whole ones beside them',
      [{ requests: [half, request('b', '1Gi')] }],
      { devices: [shared('x', { allowMultipleAllocations: false }), shared('y')] },
      'h=x:whole b=y:1Gi',
    ],
  ];
  for (const [about, claims, of, expected] of cases) test(about, () => assert.equal(allocate(claims, of), expected));

  test('consumes a shared counter of the pool once for all shares, and backtracks over them', () => {
    const consumesCounters = [{ counterSet: 'card', counters: { parts: { value: '2' } } }];
    const devices = [shared('x', { consumesCounters }), shared('y', { consumesCounters })];
    const three = { requests: [request('h', '1Gi', { count: 3 })] };
    assert.equal(allocate([three], { devices, counters: '2' }), 'h=x:1Gi h=x:1Gi h=x:1Gi');
    assert.equal(allocate([{ requests: [half, most] }], { devices, counters: '2' }), 'none');
    assert.equal(allocate([{ requests: [half, most] }], { devices, counters: '4' }), 'h=x:2Gi m=y:3Gi');
    assert.equal(
      allocate([{ requests: [half] }], { devices, counters: '2', shares: [['y', { memory: '1Gi' }]] }),
      'h=y:2Gi',
    );
  });
});

test('a search over alternatives that all need every device of a kind is aborted after a number of steps', () => {
  const names = Array.from({ length: 12 }, (_, at) => `d${at}`);
  const slice = {
    metadata: { name: 's' },
    spec: {
      driver: DRIVER,
      pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
      nodeName: 'a',
      devices: names.map((name) => ({ name, allowMultipleAllocations: true })),
    },
  };
  const alternatives = Array.from({ length: 8 }, (_, at) => ({
    name: `a${at}`,
    deviceClassName: 'any',
    allocationMode: 'All',
  }));
  const requests = [
    ...Array.from({ length: 10 }, (_, at) => ({ name: `r${at}`, firstAvailable: alternatives })),
    { name: 'last', exactly: { deviceClassName: 'any', allocationMode: 'ExactCount', count: 1000 } },
  ];
  const claim: ResourceClaim = { metadata: { name: 'c', namespace: 'default' }, spec: { devices: { requests } } };
  let asked = 0;
  const wanted = wantedClaim(claim, (name) => ({ metadata: { name }, spec: {} }));
  for (const alternative of wanted.requests.flat()) {
    const { selects } = alternative;
    Object.assign(alternative, {
      selects: (...of: Parameters<typeof selects>) => {
        asked++;
        return selects(...of);
      },
    });
  }
  assert.equal(allocateClaims({ node, pools: allDevices([slice]), inUse: new Set(), claims: [wanted] }), undefined);
  assert.ok(asked <= 81 * names.length, `${asked} selections`);
});
