/** Containers' requests for extended resources, as requests for devices. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Container, Pod } from '../../../api/gen/core-v1.ts';
import { stored } from '../../../api/stored-fixture.ts';
import type { Stored } from '../../../api/object.ts';
import { extendedRequests } from './extended-requests.ts';

const GPU = 'example.com/gpu';
const NIC = 'example.com/nic';

const container = (name: string, requests: Record<string, string>, more: Partial<Container> = {}): Container => ({
  name,
  image: 'i',
  resources: { requests },
  ...more,
});
const podOf = (containers: Container[], initContainers: Container[] = []): Stored<Pod> =>
  stored<Pod>({
    metadata: { name: 'p' },
    spec: { containers, initContainers },
  });
const gpus = (name: string, count: number): Container => container(name, { [GPU]: String(count) });
const sidecar = (name: string, count: number): Container => ({ ...gpus(name, count), restartPolicy: 'Always' });

describe('requests for devices', () => {
  const cases: [what: string, pod: Stored<Pod>, requests: string, mappings: string][] = [
    ['one container', podOf([gpus('a', 2)]), 'container-0-request-0=2', 'a:container-0-request-0'],
    [
      'each container has its own',
      podOf([gpus('a', 1), container('none', {}), gpus('b', 2)]),
      'container-0-request-0=1 container-2-request-0=2',
      'a:container-0-request-0 b:container-2-request-0',
    ],
    [
      'several resources of one container, named by their order among all it asks for',
      podOf([container('a', { cpu: '1', [NIC]: '1', [GPU]: '3' })]),
      'container-0-request-1=3 container-0-request-2=1',
      'a:container-0-request-1 a:container-0-request-2',
    ],
    [
      'an init container uses those of the containers to come',
      podOf([gpus('a', 2)], [gpus('i', 1)]),
      'container-1-request-0=2',
      'a:container-1-request-0 i:container-1-request-0',
    ],
    [
      'an init container that needs more gets the rest',
      podOf([gpus('a', 1)], [gpus('i', 3)]),
      'container-0-request-0=2 container-1-request-0=1',
      'a:container-1-request-0 i:container-1-request-0 i:container-0-request-0',
    ],
    [
      'the largest rest serves all init containers',
      podOf([gpus('a', 1)], [gpus('i', 2), gpus('j', 4)]),
      'container-1-request-0=3 container-2-request-0=1',
      'a:container-2-request-0 i:container-2-request-0 i:container-1-request-0 j:container-2-request-0 j:container-1-request-0',
    ],
    [
      'a sidecar keeps its own; only init containers before it use it, too',
      podOf([container('a', {})], [gpus('i', 1), sidecar('s', 1), gpus('j', 1)]),
      'container-1-request-0=1 container-2-request-0=1',
      's:container-1-request-0 i:container-1-request-0 j:container-2-request-0',
    ],
    ['nothing for none', podOf([container('a', { [GPU]: '0' })]), '', ''],
  ];
  for (const [what, pod, requests, mappings] of cases)
    test(what, () => {
      const found = extendedRequests(pod, new Map([GPU, NIC].map((name) => [name, 'class'])));
      assert.equal(found.requests.map(({ name, exactly }) => `${name}=${exactly?.count}`).join(' '), requests);
      assert.equal(
        found.mappings.map(({ containerName, requestName }) => `${containerName}:${requestName}`).join(' '),
        mappings,
      );
    });
});

test('more containers with a request than a claim can have requests are refused, before init containers are matched with them', () => {
  const many = Array.from({ length: 5_000 }, (_, at) => gpus(`c${at}`, 1));
  const init = Array.from({ length: 5_000 }, (_, at) => gpus(`i${at}`, 5_000));
  const classes = new Map([[GPU, 'gpu']]);
  assert.throws(
    () => extendedRequests(podOf(many, init), classes),
    /more than 32 containers request example.com\/gpu, which devices provide/,
  );
  const { requests, mappings } = extendedRequests(podOf(many.slice(0, 32), init), classes);
  assert.deepEqual([requests.length, mappings.length], [33, 32 + 5_000 * 33]);
});
