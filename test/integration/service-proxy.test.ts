/** The service proxy's rules in a real kernel, inside network namespaces of this test. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { EndpointSlices, Nodes, Pods, Services } from '../../src/api/gen/resources.ts';
import type { Service, ServiceSpec } from '../../src/api/gen/core-v1.ts';
import type { EndpointSlice } from '../../src/api/gen/discovery-v1.ts';
import { createInProcessClient } from '../../src/client/in-process-transport.ts';
import { createInformerFactory } from '../../src/client/informer-factory.ts';
import { createFakeApi } from '../../src/client/fake-api-fixture.ts';
import { createNodePlatform, type NodePlatform } from '../../src/platform/node/node-platform.ts';
import { createServiceProxy, type ServiceProxy } from '../../src/proxy/service-proxy.ts';
import {
  CLUSTER_CIDR,
  CLUSTER_CIDR_6,
  createTestNetwork,
  NODE_IP,
  OUTSIDE_IP,
  SERVICE_CIDR,
  SERVICE_CIDR_6,
  type TestNetwork,
} from './service-proxy/network.ts';

const skip = process.getuid?.() === 0 ? false : 'needs root';
const PODS: Readonly<Record<string, string>> = { a: '10.42.0.2', b: '10.42.0.3' };

function service(name: string, clusterIP: string, spec: Partial<ServiceSpec> = {}): Service {
  const ports = spec.ports ?? [{ port: 80, protocol: 'TCP', targetPort: 8080 }];
  return {
    metadata: { namespace: 'default', name },
    spec: { type: 'ClusterIP', clusterIP, clusterIPs: [clusterIP], ...spec, ports },
  };
}

function slice(name: string, pods: readonly string[], protocol = 'TCP', nodeName = 'node-1'): EndpointSlice {
  return {
    metadata: { namespace: 'default', name: `${name}-x`, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    ports: [{ port: 8080, protocol }],
    endpoints: pods.map((pod) => ({
      addresses: [PODS[pod] as string],
      nodeName,
      conditions: { ready: true, serving: true, terminating: false },
    })),
  };
}

describe('service proxy', { skip }, () => {
  let network: TestNetwork;
  let platform: NodePlatform;
  let proxy: ServiceProxy;
  let running: Promise<void>;
  const stop = new AbortController();
  const api = createFakeApi(() => '2026-01-01T00:00:00Z');
  const rulesText = (): string => network.run('node', 'nft', 'list', 'table', 'ip', 'kt');

  /** Resolves when the rules of the table meet the condition. */
  async function until(condition: (rules: string) => boolean): Promise<void> {
    const deadlineMs = performance.now() + 120_000;
    while (performance.now() < deadlineMs) {
      if (condition(rulesText())) return;
      await platform.clock.sleep(10);
    }
    assert.fail(`the rules did not become as wanted:\n${rulesText()}`);
  }
  const answers = (from: string, address: string, port: number, times = 20): Set<string> =>
    new Set(Array.from({ length: times }, () => network.tcp(from, address, port)));

  before(async () => {
    network = createTestNetwork();
    for (const [name, address] of Object.entries(PODS)) await network.addPod(name, address);
    platform = createNodePlatform({ log: { level: 'warn' } });
    const { clock } = platform;
    api.seed(Nodes, { metadata: { name: 'node-1' } });
    api.seed(
      Services,
      service('web', '10.43.0.20', { type: 'NodePort', ports: [{ port: 80, protocol: 'TCP', nodePort: 30080 }] }),
    );
    api.seed(EndpointSlices, slice('web', ['a', 'b']));
    api.seed(
      Services,
      service('empty', '10.43.0.21', { type: 'NodePort', ports: [{ port: 80, protocol: 'TCP', nodePort: 30081 }] }),
    );
    api.seed(
      Services,
      service('sticky', '10.43.0.22', {
        sessionAffinity: 'ClientIP',
        type: 'NodePort',
        ports: [{ port: 80, protocol: 'TCP', nodePort: 30082 }],
      }),
    );
    api.seed(EndpointSlices, slice('sticky', ['a', 'b']));
    api.seed(
      Services,
      service('local', '10.43.0.23', {
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Local',
        loadBalancerSourceRanges: ['192.0.2.0/24', '192.0.2.128/25'],
        ports: [{ port: 81, protocol: 'TCP', nodePort: 30083 }],
      }),
    );
    api.modify<Service>(Services, 'default/local', (s) => ({
      ...s,
      status: { loadBalancer: { ingress: [{ ip: NODE_IP }] } },
    }));
    api.seed(EndpointSlices, slice('local', ['a']));
    api.seed(
      Services,
      service('names', '10.43.0.24', { type: 'NodePort', ports: [{ port: 53, protocol: 'UDP', nodePort: 30053 }] }),
    );
    api.seed(EndpointSlices, slice('names', ['a'], 'UDP'));
    for (const [name, address, extra] of [
      ['six', 'fd00:43::20', {}],
      ['sticky-six', 'fd00:43::22', { sessionAffinity: 'ClientIP' }],
      ['empty-six', 'fd00:43::21', {}],
    ] as const) {
      api.seed(Services, service(name, address, extra));
      if (name === 'empty-six') continue;
      api.seed(EndpointSlices, {
        ...slice(name, ['a', 'b']),
        addressType: 'IPv6',
        endpoints: [2, 3].map((n) => ({ addresses: [`fd00:42::${n}`], nodeName: 'node-1' })),
      });
    }
    api.seed(Pods, {
      metadata: { namespace: 'default', name: 'b' },
      spec: { nodeName: 'node-1', containers: [{ name: 'c', ports: [{ containerPort: 8080, hostPort: 8000 }] }] },
      status: { phase: 'Running', podIP: PODS.b as string, podIPs: [{ ip: PODS.b as string }] },
    });
    const client = createInProcessClient({
      handler: api.handler,
      clock,
      principal: { name: 'p', groups: [] },
      userAgent: 'test',
    });
    const informers = createInformerFactory({ client, clock, random: platform.random, log: platform.log });
    proxy = createServiceProxy(
      { informers, platform },
      {
        nodeName: 'node-1',
        nftTable: 'kt',
        clusterCidr: `${CLUSTER_CIDR},${CLUSTER_CIDR_6}`,
        serviceCidr: `${SERVICE_CIDR},${SERVICE_CIDR_6}`,
        masqueradeMark: 0x4001_0000,
        mode: 'nftables',
        commandPrefix: ['ip', 'netns', 'exec', network.ns('node')],
      },
    );
    informers.start(stop.signal);
    running = proxy.start(stop.signal);
    await proxy.synced();
  });
  after(async () => {
    stop.abort();
    await running;
    platform.close();
    network.remove();
  });

  test('a cluster address reaches every endpoint with the pod as the source', () => {
    assert.deepEqual(answers('b', '10.43.0.20', 80), new Set(['a 10.42.0.3', 'b 10.42.0.1']));
  });

  test('the node and outside clients reach it by cluster address and node port, masqueraded', () => {
    assert.deepEqual(answers('node', '10.43.0.20', 80), new Set(['a 10.42.0.1', 'b 10.42.0.1']));
    assert.deepEqual(answers('outside', NODE_IP, 30080), new Set(['a 10.42.0.1', 'b 10.42.0.1']));
    assert.deepEqual(answers('outside', '10.43.0.20', 80), new Set(['a 10.42.0.1', 'b 10.42.0.1']));
    assert.deepEqual(answers('node', NODE_IP, 30080), new Set(['a 10.42.0.1', 'b 10.42.0.1']));
  });

  test('without endpoints, on an unknown port or an unassigned address connections are refused at once', () => {
    for (const [from, address, port] of [
      ['a', '10.43.0.21', 80],
      ['node', '10.43.0.21', 80],
      ['outside', NODE_IP, 30081],
      ['a', '10.43.0.20', 81],
      ['node', '10.43.0.20', 81],
      ['a', '10.43.99.99', 80],
      ['node', '10.43.99.99', 80],
    ] as const) {
      const ms = network.refusedMs(from, address, port);
      assert.ok(ms !== undefined && ms < 10_000, `${from} to ${address}:${port} was not refused`);
    }
  });

  test('a listener on a local address of the service range does not interfere', async () => {
    const server = platform.exec.run('ip', [
      'netns',
      'exec',
      network.ns('node'),
      'timeout',
      '120',
      process.execPath,
      '-e',
      "require('net').createServer((s)=>{s.end('dns');process.exitCode=0}).listen(53,'10.43.0.10')",
    ]);
    for (let tries = 0; network.tcp('a', '10.43.0.10', 53, 2) !== 'dns'; tries++) {
      assert.ok(tries < 500, 'the listener was not reached');
      await platform.clock.sleep(50);
    }
    assert.equal(network.tcp('node', '10.43.0.10', 53), 'dns');
    network.run('node', 'sh', '-c', 'kill $(ss -Hltnp "sport = :53" | sed "s/.*pid=\\([0-9]*\\).*/\\1/")');
    await server;
  });

  test('session affinity keeps a client at its endpoint, also when endpoints are added and removed', async () => {
    for (const [from, address, port] of [
      ['b', '10.43.0.22', 80],
      ['outside', NODE_IP, 30082],
    ] as const) {
      assert.equal(answers(from, address, port, 10).size, 1, `${from} to ${address}`);
    }
    const [mine] = answers('a', '10.43.0.22', 80, 1);
    const other = mine?.startsWith('a') ? 'b' : 'a';
    const own = other === 'b' ? 'a' : 'b';
    api.modify<EndpointSlice>(EndpointSlices, 'default/sticky-x', () => slice('sticky', [own]));
    await until(
      (rules) =>
        !new RegExp(
          `10\\.43\\.0\\.22 \\. tcp \\. 80 \\. 0x0000000[12] : ${(PODS[other] as string).replaceAll('.', '\\.')}`,
        ).test(rules),
    );
    assert.deepEqual(answers('a', '10.43.0.22', 80, 5), new Set([mine]));
    api.modify<EndpointSlice>(EndpointSlices, 'default/sticky-x', () => slice('sticky', ['b', 'a']));
    await until((rules) =>
      new RegExp(
        `10\\.43\\.0\\.22 \\. tcp \\. 80 \\. 0x0000000[12] : ${(PODS[other] as string).replaceAll('.', '\\.')}`,
      ).test(rules),
    );
    assert.deepEqual(answers('a', '10.43.0.22', 80, 5), new Set([mine]));
  });

  test('external policy Local keeps the client address; source ranges restrict the load balancer', async () => {
    assert.equal(network.tcp('outside', NODE_IP, 81), `a ${OUTSIDE_IP}`);
    assert.equal(network.tcp('outside', NODE_IP, 30083), `a ${OUTSIDE_IP}`);
    assert.equal(network.tcp('node', NODE_IP, 30083), 'a 10.42.0.1');
    api.modify<Service>(Services, 'default/local', (s) => ({
      ...s,
      spec: { ...s.spec, loadBalancerSourceRanges: ['198.51.100.0/24'] },
    }));
    await until((rules) => rules.includes('198.51.100.0/24'));
    assert.equal(network.tcp('outside', NODE_IP, 81, 2), '');
    assert.equal(network.tcp('outside', NODE_IP, 30083), `a ${OUTSIDE_IP}`);
    api.modify<EndpointSlice>(EndpointSlices, 'default/local-x', () => slice('local', ['a'], 'TCP', 'elsewhere'));
    await until((rules) => rules.includes('policy-node-1-0'));
    assert.equal(network.tcp('outside', NODE_IP, 30083, 2), '');
    assert.equal(network.tcp('b', NODE_IP, 30083), 'a 10.42.0.3');
  });

  test('host ports lead to the pod, also for the pod itself', () => {
    assert.equal(network.tcp('outside', NODE_IP, 8000), `b ${OUTSIDE_IP}`);
    assert.equal(network.tcp('b', NODE_IP, 8000), 'b 10.42.0.1');
  });

  test('UDP: a client with one socket reaches the new endpoint after a replacement', async () => {
    assert.equal(network.udp('b', '10.43.0.24', 53, 4000), 'a 10.42.0.3');
    assert.equal(network.udp('outside', NODE_IP, 30053, 4000), 'a 10.42.0.1');
    api.modify<EndpointSlice>(EndpointSlices, 'default/names-x', () => slice('names', ['b'], 'UDP'));
    await until((rules) => rules.includes('10.43.0.24 . udp . 53 . 0x00000001 : 10.42.0.3'));
    for (let tries = 0; network.udp('outside', NODE_IP, 30053, 4000) !== 'b 10.42.0.1'; tries++) {
      assert.ok(tries < 30, 'the flow stayed');
      await platform.clock.sleep(20);
    }
  });

  test('IPv6: the same, in a separate table', async () => {
    assert.deepEqual(answers('b', 'fd00:43::20', 80), new Set(['a fd00:42::3', 'b fd00:42::1']));
    assert.deepEqual(answers('node', 'fd00:43::20', 80), new Set(['a fd00:42::1', 'b fd00:42::1']));
    assert.equal(answers('b', 'fd00:43::22', 80, 10).size, 1);
    for (const [address, port] of [
      ['fd00:43::21', 80],
      ['fd00:43::20', 81],
      ['fd00:43::99', 80],
    ] as const) {
      const ms = network.refusedMs('a', address, port);
      assert.ok(ms !== undefined && ms < 10_000, `${address}:${port} was not refused`);
    }
    api.modify<EndpointSlice>(EndpointSlices, 'default/six-x', (old) => ({
      ...old,
      endpoints: [{ addresses: ['fd00:42::2'], nodeName: 'node-1' }],
    }));
    await until(
      () =>
        network
          .run('node', 'nft', 'list', 'map', 'ip6', 'kt', 'services')
          .match(/fd00:43::20 \. tcp \. 80 : goto pick-1[ ,\n]/) !== null,
    );
    assert.deepEqual(answers('b', 'fd00:43::20', 80, 10), new Set(['a fd00:42::3']));
  });

  test('a change of endpoints is in the kernel at once', async () => {
    api.modify<EndpointSlice>(EndpointSlices, 'default/web-x', () => slice('web', ['b']));
    await until((rules) => rules.includes('10.43.0.20 . tcp . 80 : goto pick-1,'));
    assert.deepEqual(answers('a', '10.43.0.20', 80, 10), new Set(['b 10.42.0.2']));
    api.remove(Services, 'default/web');
    await until((rules) => !rules.includes('10.43.0.20 .'));
    assert.notEqual(network.refusedMs('a', '10.43.0.20', 80), undefined);
  });

  test('damage by other programs is repaired with the next change that fails', async () => {
    network.run('node', 'nft', 'delete', 'table', 'ip', 'kt');
    api.seed(Services, service('new', '10.43.0.30'));
    api.seed(EndpointSlices, slice('new', ['a']));
    for (let tries = 0; network.tcp('b', '10.43.0.30', 80, 2) !== 'a 10.42.0.3'; tries++) {
      assert.ok(tries < 500, 'the table did not come back');
      await platform.clock.sleep(50);
    }
    assert.match(rulesText(), /10\.43\.0\.24 \. udp/);
  });

  test('removal deletes every table', async () => {
    stop.abort();
    await running;
    assert.match(network.run('node', 'nft', 'list', 'tables'), /table ip kt/);
    await proxy.remove();
    assert.equal(network.run('node', 'nft', 'list', 'tables'), '');
    await proxy.remove();
  });
});
