/** Services and pods that claim addresses of others, in every mode of the proxy: the owners keep them. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { EndpointSlices, Nodes, Pods, Services } from '../../src/api/gen/resources.ts';
import type { ContainerPort } from '../../src/api/gen/core-v1.ts';
import { createFakeApi } from '../../src/client/fake-api-fixture.ts';
import { createInProcessClient } from '../../src/client/in-process-transport.ts';
import { createInformerFactory } from '../../src/client/informer-factory.ts';
import { createNodePlatform, type NodePlatform } from '../../src/platform/node/node-platform.ts';
import { createServiceProxy } from '../../src/proxy/service-proxy.ts';
import {
  CLUSTER_CIDR,
  createTestNetwork,
  NODE_IP,
  OUTSIDE_IP,
  SERVICE_CIDR,
  type TestNetwork,
} from './service-proxy/network.ts';

const DNS = '10.43.0.10';
const EVIL = '10.42.0.2';
/** Ports of the API server and the kubelet. */
const OWN_PORTS = [6443, 10_250];
/** Answers on TCP and UDP with its name. */
const SERVER = `
const [, name, host, port] = process.argv;
require('net').createServer((s) => { s.on('error', () => {}); s.end(name + '\\n'); }).listen(+port, host, () => console.log('ready'));
const u = require('dgram').createSocket('udp4'); u.on('message', (m, r) => u.send(name + '\\n', r.port, r.address)); u.bind(+port, host);`;

const hostPorts: readonly ContainerPort[] = (['TCP', 'UDP'] as const).flatMap((protocol) => [
  { containerPort: 8080, hostPort: 53, protocol },
  { containerPort: 8080, hostPort: 53, hostIP: DNS, protocol },
  { containerPort: 8080, hostPort: 80, hostIP: OUTSIDE_IP, protocol },
  { containerPort: 8080, hostPort: 81, hostIP: NODE_IP, protocol },
  ...OWN_PORTS.flatMap((hostPort) => [
    { containerPort: 8080, hostPort, protocol },
    { containerPort: 8080, hostPort, hostIP: NODE_IP, protocol },
  ]),
]);

describe('claims of addresses of others', () => {
  let network: TestNetwork;
  let platform: NodePlatform;
  const servers: ChildProcess[] = [];
  const api = createFakeApi(() => '2026-01-01T00:00:00Z');
  before(async () => {
    network = createTestNetwork();
    await network.addPod('evil', EVIL);
    await network.addPod('victim', '10.42.0.3');
    platform = createNodePlatform({ log: { level: 'error' } });
    for (const [name, ns, host, port] of [
      ['dns', 'node', DNS, '53'],
      ['api', 'node', NODE_IP, '6443'],
      ['kubelet', 'node', NODE_IP, '10250'],
      ['outside', 'outside', OUTSIDE_IP, '80'],
    ] as const) {
      const command = ['netns', 'exec', network.ns(ns), process.execPath, '-e', SERVER, name, host, port];
      const server = spawn('ip', command, { stdio: ['ignore', 'pipe', 'inherit'] });
      servers.push(server);
      await new Promise((resolve) => server.stdout?.once('data', resolve));
    }
    const ports = (numbers: readonly number[]) =>
      numbers.flatMap((port) =>
        ['TCP', 'UDP'].map((protocol) => ({ name: `${protocol}-${port}`, port, targetPort: 8080, protocol })),
      );
    const claimed = [53, 80, 6443, 7000];
    const externalIPs = [DNS, NODE_IP];
    api.seed(Nodes, { metadata: { name: 'node-1' } });
    api.seed(Services, {
      metadata: { namespace: 'bar', name: 'evil' },
      spec: {
        type: 'ClusterIP',
        clusterIP: '10.43.0.20',
        clusterIPs: ['10.43.0.20'],
        externalIPs,
        ports: ports(claimed),
      },
    });
    const slice = (namespace: string, name: string, service: string) => ({
      metadata: { namespace, name, labels: { 'kubernetes.io/service-name': service } },
      addressType: 'IPv4',
    });
    api.seed(EndpointSlices, {
      ...slice('bar', 'evil-1', 'evil'),
      ports: ports(claimed).map(({ name, protocol }) => ({ name, protocol, port: 8080 })),
      endpoints: [{ addresses: [EVIL], nodeName: 'node-1', conditions: { ready: true, serving: true } }],
    });
    api.seed(EndpointSlices, {
      ...slice('default', 'kubernetes', 'kubernetes'),
      ports: [{ name: 'https', port: 6443, protocol: 'TCP' }],
      endpoints: [{ addresses: [NODE_IP] }],
    });
    api.seed(Pods, {
      metadata: { namespace: 'bar', name: 'evil' },
      spec: { nodeName: 'node-1', containers: [{ name: 'c', ports: [...hostPorts] }] },
      status: { phase: 'Running', podIP: EVIL, podIPs: [{ ip: EVIL }] },
    });
  });
  after(async () => {
    for (const server of servers) server.kill('SIGKILL');
    network?.remove();
    await platform?.close();
  });

  for (const mode of ['nftables', 'iptables', 'userspace'] as const)
    it(`${mode}: DNS, the API server, the kubelet and other machines answer on their own addresses`, async () => {
      const { clock } = platform;
      const principal = { name: 'p', groups: [] };
      const client = createInProcessClient({ handler: api.handler, clock, principal, userAgent: 'test' });
      const informers = createInformerFactory({ client, clock, random: platform.random, log: platform.log });
      const proxy = createServiceProxy(
        { informers, platform },
        {
          nodeName: 'node-1',
          nftTable: 'kh',
          clusterCidr: CLUSTER_CIDR,
          serviceCidr: SERVICE_CIDR,
          masqueradeMark: 0x4001_0000,
          mode,
          ownTcpPorts: OWN_PORTS,
          commandPrefix: ['ip', 'netns', 'exec', network.ns('node')],
        },
      );
      const stop = new AbortController();
      informers.start(stop.signal);
      const running = proxy.start(stop.signal);
      await proxy.synced();
      const answer = (address: string, port: number): string[] => [
        network.tcp('victim', address, port, 5).split(' ')[0]!,
        network.udp('victim', address, port).split(' ')[0]!,
      ];
      assert.deepEqual(answer(DNS, 53), ['dns', 'dns']);
      assert.deepEqual(answer(OUTSIDE_IP, 80), ['outside', 'outside']);
      assert.equal(network.tcp('victim', NODE_IP, 6443, 5), 'api');
      assert.equal(network.tcp('victim', NODE_IP, 10_250, 5), 'kubelet');
      // Claims that are permitted: a port of the node's address, and an external address on another port. The userspace mode
      // relays from a process of this test, which runs outside the network namespace.
      if (mode !== 'userspace')
        for (const port of [81, 7000]) assert.deepEqual(answer(NODE_IP, port), ['evil', 'evil'], String(port));
      stop.abort();
      await running;
      await proxy.remove();
    });
});
