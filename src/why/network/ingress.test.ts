import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IngressClasses, Services } from '../../api/gen/resources.ts';
import type { Ingress } from '../../api/gen/networking-v1.ts';
import type { Client } from '../../client/client.ts';
import { Evidence } from '../evidence.ts';
import { explainIngress } from './ingress.ts';

const PORTS = 1000;
const many = <T>(make: (index: number) => T): T[] => Array.from({ length: PORTS }, (_, index) => make(index));

test('an ingress to thousands of ports that its service lacks visits each port a few times', async () => {
  let reads = 0;
  const ports = many((index) =>
    Object.defineProperty({ port: index + 1 }, 'name', { get: () => (reads++, `p${index}`) }),
  );
  const objects = new Map<unknown, object>([
    [Services, { metadata: { namespace: 'default', name: 's' }, spec: { ports } }],
    [IngressClasses, { metadata: { name: 'c' } }],
  ]);
  const client = {
    resource: (info: unknown) => ({
      get: () => Promise.resolve(objects.get(info)),
      list: () => Promise.resolve({ metadata: {}, items: [] }),
    }),
  } as unknown as Client;
  const explain = (): Promise<never> => Promise.resolve({ state: 'Fine', summary: '', causes: [] } as never);
  const paths = many((index) => ({ backend: { service: { name: 's', port: { name: `q${index}` } } } }));
  const ingress = {
    metadata: { namespace: 'default', name: 'i' },
    spec: { ingressClassName: 'c', rules: [{ http: { paths } }] },
  } as unknown as Ingress;
  const { causes } = await explainIngress(ingress, new Evidence({ client, nowMs: 0, explain }));
  const missing = causes.filter(({ code }) => code === 'BackendPortMissing');
  assert.equal(missing[0]?.message, 'service s has no port named q0, to which it leads');
  assert.equal(missing.length, 20);
  assert.ok(reads <= 3 * PORTS, `${reads} reads`);
});
