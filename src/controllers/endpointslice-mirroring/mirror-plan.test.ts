/** Mirrors of Endpoints with many duplicates, and of some with the maximum size of a request. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Endpoints, EndpointSubset } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { stored } from '../../api/stored-fixture.ts';
import { planMirror } from './mirror-plan.ts';

const endpoints = (...subsets: readonly EndpointSubset[]): Stored<Endpoints> =>
  stored({
    metadata: { namespace: 'ns', name: 'web', uid: 'u' },
    subsets: [...subsets],
  });
const ports = (...numbers: readonly number[]): EndpointSubset['ports'] =>
  numbers.map((port) => ({ name: `p${port}`, port, protocol: 'TCP' }));
const addresses = (...last: readonly number[]) =>
  last.map((index) => ({ ip: `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}` }));

/** Ports and addresses of the slices, an address that is not ready with a mark. */
const shown = (source: Stored<Endpoints>): string[] =>
  planMirror(source, [])
    .create.map(
      ({ ports: list = [], endpoints: members = [] }) =>
        `${list.map(({ port }) => port)}: ${members.map(({ addresses: [ip], conditions }) => `${ip}${conditions?.ready === true ? '' : '!'}`)}`,
    )
    .toSorted();

test('ports with the very same addresses share a slice, wherever they were written', () => {
  assert.deepEqual(
    shown(
      endpoints(
        { ports: ports(1, 2), addresses: addresses(1) },
        { ports: ports(2), addresses: addresses(2) },
        { ports: ports(3), addresses: addresses(2, 1) },
        { ports: ports(4), addresses: addresses(1, 3), notReadyAddresses: addresses(3) },
        { addresses: addresses(9) },
      ),
    ),
    ['1: 10.0.0.1', '2,3: 10.0.0.1,10.0.0.2', '4: 10.0.0.1,10.0.0.3!', ': 10.0.0.9'].toSorted(),
  );
});

const count = (length: number, from = 0): number[] => Array.from({ length }, (_, index) => from + index);
const hostile: Readonly<Record<string, () => Stored<Endpoints>>> = {
  'many ports of many addresses': () =>
    endpoints({ ports: ports(...count(20_000)), addresses: addresses(...count(20_000)) }),
  'many subsets that share their ports in different ways': () =>
    endpoints(
      ...count(40).map((index) => ({
        ports: ports(...count(1000).filter((port) => port % (index + 2) !== 0)),
        addresses: addresses(...count(1000, 1000 * index)),
      })),
    ),
  'many subsets of one port': () =>
    endpoints(...count(10_000).map((index) => ({ ports: ports(1), addresses: addresses(index) }))),
};

for (const [what, make] of Object.entries(hostile))
  test(`${what} are planned in little time, at most a thousand addresses a slice`, () => {
    const source = make();
    const startMs = process.cpuUsage().user;
    const { create, skipped } = planMirror(source, []);
    const tookMs = (process.cpuUsage().user - startMs) / 1000;
    assert.ok(tookMs < 3000, `${tookMs} ms`);
    assert.ok(create.every(({ endpoints: members = [] }) => members.length <= 1000));
    assert.ok(skipped > 0);
  });
