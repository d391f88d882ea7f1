/** Ports that Services give by name, on pods of many ports: correct, and without work for each pair. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerPort, Pod, Service, ServicePort } from '../api/gen/core-v1.ts';
import { allSteps } from '../base/steps.ts';
import { subsetsOf } from './endpoint/subsets.ts';
import { desiredGroups } from './endpointslice/desired-endpoints.ts';

const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));

function service(ports: readonly ServicePort[]): Service {
  return { metadata: { name: 's', namespace: 'n' }, spec: { clusterIP: '10.0.0.1', ports: [...ports] } };
}

function pod(index: number, ports: ContainerPort[], initPorts: ContainerPort[] = []): Pod {
  return {
    metadata: { name: `p${index}`, namespace: 'n', uid: `u${index}` },
    spec: {
      nodeName: 'node',
      containers: [{ name: 'c', ports }],
      initContainers: [{ name: 'i', restartPolicy: 'Always', ports: initPorts }],
    },
    status: { podIP: `10.1.${index >> 8}.${index & 255}`, conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

const nodeOf = (): { metadata: { name: string } } => ({ metadata: { name: 'node' } });

test('each pod has its own number for a name; protocol, first container and sidecars count as upstream', () => {
  const wanted = service([
    { name: 'web', port: 80, targetPort: 'http' },
    { name: 'alias', port: 81, targetPort: 'http' },
    { name: 'dns', port: 53, protocol: 'UDP', targetPort: 'http' },
    { name: 'side', port: 90, targetPort: 'mesh' },
    { name: 'plain', port: 443 },
    { name: 'zero', port: 444, targetPort: 0 },
  ]);
  const http = { name: 'http', containerPort: 8080 };
  const pods = [
    pod(1, [http, { name: 'http', containerPort: 1 }], [{ name: 'mesh', containerPort: 15_000 }]),
    pod(2, [http, { name: 'http', protocol: 'UDP', containerPort: 5353 }]),
    pod(3, [{ name: 'http', containerPort: 9090 }]),
    pod(4, []),
  ];
  const groups = [...allSteps(desiredGroups(wanted, pods, { type: 'IPv4', nodeOf })).values()].map(
    ({ ports, endpoints }) => [
      ports.map(({ name, port }) => `${name} ${port}`).join(),
      endpoints.map(({ targetRef }) => targetRef?.name).join(),
    ],
  );
  assert.deepEqual(groups, [
    ['web 8080,alias 8080,side 15000,plain 443,zero 444', 'p1'],
    ['web 8080,alias 8080,dns 5353,plain 443,zero 444', 'p2'],
    ['web 9090,alias 9090,plain 443,zero 444', 'p3'],
    ['plain 443,zero 444', 'p4'],
  ]);
  const subsets = allSteps(subsetsOf(wanted, pods)).subsets.map(({ ports = [], addresses = [] }) => [
    ports.map(({ name, port }) => `${name} ${port}`).join(),
    addresses.map(({ targetRef }) => targetRef?.name).join(),
  ]);
  assert.deepEqual(subsets, [
    ['plain 443,zero 444', 'p1,p2,p3,p4'],
    ['alias 8080,web 8080', 'p1,p2'],
    ['side 15000', 'p1'],
    ['dns 5353', 'p2'],
    ['alias 9090,web 9090', 'p3'],
  ]);
});

/** Counts how often names of container ports and target ports are read. */
function counted<T extends object>(object: T, field: string, count: { reads: number }): T {
  const value = Reflect.get(object, field) as unknown;
  return Object.defineProperty(object, field, { enumerable: true, get: () => (count.reads++, value) });
}

for (const [what, compute] of [
  ['slices', (s: Service, pods: readonly Pod[]) => allSteps(desiredGroups(s, pods, { type: 'IPv4', nodeOf })).size],
  ['subsets', (s: Service, pods: readonly Pod[]) => allSteps(subsetsOf(s, pods)).subsets.length],
] as const)
  test(`${what} of many named ports, many pods and many container ports look at each once`, () => {
    const count = { reads: 0 };
    const [services, pods, ports] = [400, 50, 400];
    const wanted = service(
      many(services, (at) => counted({ name: `s${at}`, port: at + 1, targetPort: `t${at}` }, 'targetPort', count)),
    );
    const all = many(pods, (index) =>
      pod(
        index,
        many(ports, (at) => counted({ name: `t${ports - at - 1}`, containerPort: at + 1 }, 'name', count)),
      ),
    );
    assert.equal(compute(wanted, all), 1);
    const inputs = services + pods * ports;
    assert.ok(count.reads <= 5 * inputs, `${count.reads} reads of ${inputs} ports`);
  });

test('pods of many named ports are read in steps', () => {
  const wanted = service(many(2000, (at) => ({ name: `s${at}`, port: at + 1, targetPort: `t${at}` })));
  const pods = many(60, (index) =>
    pod(
      index,
      many(2000, (at) => ({ name: `t${at}`, containerPort: at + 1 })),
    ),
  );
  const stepsOf = (work: Iterator<unknown>): number => {
    let steps = 1;
    while (work.next().done !== true) steps++;
    return steps;
  };
  assert.ok(stepsOf(desiredGroups(wanted, pods, { type: 'IPv4', nodeOf })) > 20);
  assert.ok(stepsOf(subsetsOf(wanted, pods)) > 20);
  const { subsets, truncated } = allSteps(subsetsOf(wanted, pods));
  assert.deepEqual([truncated, subsets[0]?.addresses?.length, subsets[0]?.ports?.length], [true, 50, 2000]);
});
