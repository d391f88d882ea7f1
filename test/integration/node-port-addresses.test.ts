/** The addresses on which node ports answer, in a real kernel, in every mode and both families. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { start, type Running } from './fixtures/programs.ts';
import { until } from './fixtures/until.ts';
import type { ProxyAlone } from './service-proxy/alone.ts';
import {
  CLUSTER_CIDR,
  CLUSTER_CIDR_6,
  createTestNetwork,
  NODE_IP,
  SERVICE_CIDR,
  SERVICE_CIDR_6,
  type TestNetwork,
} from './service-proxy/network.ts';

const skip = process.getuid?.() === 0 ? false : 'needs root';
const PROGRAM = join(import.meta.dirname, 'service-proxy/alone.ts');
const [OTHER_IP, NEW_IP] = ['198.51.100.1', '192.0.2.77'];
const [NODE_IP_6, OTHER_IP_6] = ['2001:db8::1', '2001:db8:1::1'];
const [NODE_PORT, EMPTY_PORT, HOST_PORT] = [30_080, 30_081, 8_000];
const POD = '10.42.0.2';

function wanted(mode: ProxyAlone['config']['mode'], nodePortAddresses: readonly string[]): ProxyAlone {
  const service = (name: string, last: number, nodePort: number) => ({
    metadata: { namespace: 'default', name },
    spec: {
      type: 'NodePort',
      clusterIP: `10.43.0.${last}`,
      clusterIPs: [`10.43.0.${last}`, `fd00:43::${last}`],
      ports: [{ port: 80, protocol: 'TCP', targetPort: 8080, nodePort }],
    },
  });
  const slice = (addressType: string, address: string) => ({
    metadata: { namespace: 'default', name: `web-${addressType}`, labels: { 'kubernetes.io/service-name': 'web' } },
    addressType,
    ports: [{ port: 8080, protocol: 'TCP' }],
    endpoints: [{ addresses: [address], nodeName: 'node-1' }],
  });
  return {
    config: {
      nodeName: 'node-1',
      nftTable: 'kt',
      clusterCidr: `${CLUSTER_CIDR},${CLUSTER_CIDR_6}`,
      serviceCidr: `${SERVICE_CIDR},${SERVICE_CIDR_6}`,
      masqueradeMark: 0x4001_0000,
      mode,
      nodePortAddresses,
    },
    nodeAddresses: [NODE_IP, NODE_IP_6],
    services: [service('web', 20, NODE_PORT), service('empty', 21, EMPTY_PORT)],
    slices: [slice('IPv4', POD), slice('IPv6', 'fd00:42::2')],
    pods: [
      {
        metadata: { namespace: 'default', name: 'a' },
        spec: {
          nodeName: 'node-1',
          containers: [{ name: 'c', ports: [{ containerPort: 8080, hostPort: HOST_PORT }] }],
        },
        status: { phase: 'Running', podIP: POD, podIPs: [{ ip: POD }] },
      },
    ],
  };
}

describe('node port addresses', { skip }, () => {
  let network: TestNetwork;
  let proxy: Running | undefined;

  before(async () => {
    network = createTestNetwork();
    await network.addPod('a', POD);
    for (const [name, device, ...addresses] of [
      ['node', 'uplink', `${OTHER_IP}/32`, `${NODE_IP_6}/64`, `${OTHER_IP_6}/128`],
      ['outside', 'eth0', '2001:db8::2/64'],
    ] as const)
      for (const address of addresses)
        network.run(name, 'ip', 'addr', 'add', address, 'dev', device, ...(address.includes(':') ? ['nodad'] : []));
    network.run('outside', 'ip', 'route', 'add', 'default', 'via', NODE_IP_6);
  });
  after(() => network?.remove());

  const serve = async (mode: ProxyAlone['config']['mode'], addresses: readonly string[]): Promise<Running> => {
    const order = JSON.stringify(wanted(mode, addresses));
    proxy = start('ip', ['netns', 'exec', network.ns('node'), process.execPath, PROGRAM, order]);
    await proxy.until(/synced/);
    return proxy;
  };
  const end = async (running: Running): Promise<void> => {
    running.kill();
    const { code, stderr } = await running.ended();
    assert.deepEqual([code, stderr], [0, '']);
  };
  const answers = (address: string, port = NODE_PORT): string =>
    network.tcp('outside', address, port).replace(/ .*/, '');
  const refuses = (address: string, port = NODE_PORT): boolean =>
    network.refusedMs('outside', address, port) !== undefined;

  for (const mode of ['nftables', 'iptables', 'userspace'] as const) {
    it(`${mode}: by default every address`, async () => {
      const running = await serve(mode, []);
      for (const address of [NODE_IP, OTHER_IP, NODE_IP_6, OTHER_IP_6]) assert.equal(answers(address), 'a', address);
      await end(running);
    });

    it(`${mode}: only addresses in the ranges, also one added later; host ports are unaffected`, async () => {
      const running = await serve(mode, ['192.0.2.0/24', '2001:db8::/64']);
      for (const address of [NODE_IP, NODE_IP_6]) assert.equal(answers(address), 'a', address);
      for (const address of [OTHER_IP, OTHER_IP_6]) assert.ok(refuses(address), address);
      for (const address of [NODE_IP, OTHER_IP]) {
        assert.equal(answers(address, HOST_PORT), 'a', address);
        assert.ok(refuses(address, EMPTY_PORT), address);
      }
      network.run('node', 'ip', 'addr', 'add', `${NEW_IP}/32`, 'dev', 'uplink');
      assert.equal(answers(NEW_IP), 'a');
      network.run('node', 'ip', 'addr', 'del', `${NEW_IP}/32`, 'dev', 'uplink');
      await end(running);
    });

    it(`${mode}: primary: the node's own address of each family, also after it changes`, async () => {
      const running = await serve(mode, ['primary']);
      for (const address of [NODE_IP, NODE_IP_6]) assert.equal(answers(address), 'a', address);
      for (const address of [OTHER_IP, OTHER_IP_6]) assert.ok(refuses(address), address);
      running.write(`${OTHER_IP} ${OTHER_IP_6}\n`);
      for (const address of [OTHER_IP, OTHER_IP_6])
        await until(`an answer at ${address}`, async () => answers(address) === 'a');
      for (const address of [NODE_IP, NODE_IP_6]) assert.ok(refuses(address), address);
      await end(running);
    });
  }
});
