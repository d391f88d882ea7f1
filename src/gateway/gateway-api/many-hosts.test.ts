/** What is looked up for each of thousands of hosts is made once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allSteps } from '../../base/steps.ts';
import { certificatesOfPort } from './host-certificates.ts';
import type { HostOrder } from './host-order.ts';
import type { ResolvedListener } from './listeners.ts';
import type { OwnRoute } from './own-route.ts';
import { TerminatedHosts } from './terminated-hosts.ts';

const HOSTS = Array.from({ length: 1000 }, (_, at) => `h${at}.x`);
const gateway = (name: string) => ({ metadata: { name, namespace: 'ns', creationTimestamp: '2026-01-01T00:00:00Z' } });

test('the names of a certificate are read once, not for each host', () => {
  let reads = 0;
  const own = gateway('a');
  const certificate = {
    certPem: '',
    keyPem: '',
    get ownNames() {
      reads++;
      return ['H7.X'];
    },
  };
  const plain = { certPem: '', keyPem: '', ownNames: ['other'] };
  const planned = [plain, certificate].map((one) => ({ certificate: one, names: [], withOwnNames: true, since: '' }));
  const listener = {
    gateway: own,
    listener: { name: 'l', port: 443, protocol: 'HTTPS' },
    isHttp: true,
    certificates: planned,
  };
  const order = {
    isShared: () => true,
    first: () => undefined,
    firstOnes: () => HOSTS.map((host) => [host, { gateway: own, since: '', source: '' }] as const),
  };
  const on = { port: 443, listeners: [listener as unknown as ResolvedListener], passed: new Map() };
  const found = allSteps(certificatesOfPort(on, order as unknown as HostOrder));
  assert.deepEqual(found.find((one) => one.certificate === certificate)?.names, ['h7.x']);
  assert.ok(reads <= 2, `${reads} reads`);
});

test('the Gateways of a wildcard that is passed through are gathered once, not for each host below it', () => {
  const [http, tls] = [gateway('http'), gateway('tls')];
  const at = (of: object, hosts: readonly string[]) => [
    {
      attachments: [
        { listener: { gateway: of, listener: { name: 'l', port: 443 }, isServed: true, isTls: true }, hosts },
      ],
    },
  ];
  let reads = 0;
  const older = {
    kind: 'HTTPRoute',
    route: gateway('h'),
    parents: at(http, HOSTS),
    converted: {},
  } as unknown as OwnRoute;
  const passing = {
    kind: 'TLSRoute',
    route: gateway('t'),
    get parents() {
      reads++;
      return at(tls, ['*.x']);
    },
  } as unknown as OwnRoute;
  const steps = new TerminatedHosts([], [older]).belowPassed(443, new Map([['*.x', passing]]));
  assert.deepEqual(allSteps(steps), HOSTS);
  assert.equal(reads, 1);
});
