/** Addresses in the statuses of pods, ingresses and services. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field } from '../field-error.ts';
import type { Pod } from '../gen/core-v1.ts';
import type { Ingress } from '../gen/networking-v1.ts';
import { validateIngressStatusUpdate } from './ingress.ts';
import { validatePodStatusUpdate } from './pod-status-update.ts';
import { validateServiceStatusUpdate } from './service.ts';

function complaints(check: (field: Field) => void, old?: object): string[] {
  const field = Field.root(old);
  check(field);
  return field.errors.map((error) => `${error.field}: ${error.text}`);
}
const ips = (...texts: string[]): { ip: string }[] => texts.map((ip) => ({ ip }));
const NO_IP = 'Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';

const pods: readonly [status: NonNullable<Pod['status']>, problems: string[]][] = [
  [{ podIPs: ips('10.0.0.1', 'fd00::1'), hostIP: '10.0.0.1', hostIPs: ips('10.0.0.1', 'fd00::1') }, []],
  [{ podIPs: ips('x') }, [`status.podIPs[0]: ${NO_IP}`]],
  [{ hostIP: 'x', hostIPs: ips('x') }, [`status.hostIPs[0]: ${NO_IP}`]],
  [
    { hostIP: '10.0.0.1', hostIPs: ips('10.0.0.2') },
    ['status.hostIPs[0].ip: Invalid value: "10.0.0.2": must be equal to `hostIP`'],
  ],
  [
    { podIPs: ips('10.0.0.1', '10.0.0.2') },
    [
      'status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: may specify no more than one IP for each IP family',
    ],
  ],
];
for (const [status, problems] of pods)
  test(`a pod at ${JSON.stringify(status)}: ${problems.join() || 'valid'}`, () => {
    const old: Pod = { metadata: {}, spec: { containers: [] } };
    assert.deepEqual(
      complaints((field) => validatePodStatusUpdate({ ...old, status }, old, field), old),
      problems,
    );
  });

test('a pod keeps its old addresses and its nominated node', () => {
  const old: Pod = { metadata: {}, status: { podIPs: ips('010.0.0.1'), nominatedNodeName: 'No Node' } };
  assert.deepEqual(
    complaints((field) => validatePodStatusUpdate(old, old, field), old),
    [],
  );
});

test('addresses of load balancers in statuses are validated', () => {
  const of = (...ingress: { ip?: string; hostname?: string }[]) => ({
    metadata: {},
    spec: { type: 'LoadBalancer' },
    status: { loadBalancer: { ingress } },
  });
  const entries = of({ ip: '10.0.0.1' }, { hostname: 'a.example' }, { ip: 'x' }, { hostname: '10.0.0.1' });
  const place = 'status.loadBalancer.ingress';
  const expected = [
    `${place}[2].ip: ${NO_IP}`,
    `${place}[3].hostname: Invalid value: "10.0.0.1": must be a DNS name, not an IP address`,
  ];
  assert.deepEqual(
    complaints((field) => validateIngressStatusUpdate(entries as Ingress, of() as Ingress, field), of()),
    expected,
  );
  assert.deepEqual(
    complaints((field) => validateServiceStatusUpdate(entries, of(), field), of()),
    expected,
  );
});
