/**
 * Traffic in every mode of the proxy, in a real kernel, by IPv4 and IPv6: the client address that endpoints receive, and session
 * affinity with its timeout.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceSpec } from '../../src/api/gen/core-v1.ts';
import { start, type Running } from './fixtures/programs.ts';
import { until } from './fixtures/until.ts';
import type { ProxyAlone } from './service-proxy/alone.ts';
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
const PROGRAM = join(import.meta.dirname, 'service-proxy/alone.ts');
const PODS = { a: '10.42.0.2', b: '10.42.0.3' };
/** Last octets of the services' addresses. */
const SERVICES = { web: 20, sticky: 21, brief: 22, home: 23 };
const [BRIEF_SECONDS, LONG_SECONDS] = [1, 10_800];

const sticky = (timeoutSeconds: number): Partial<ServiceSpec> => ({
  sessionAffinity: 'ClientIP',
  sessionAffinityConfig: { clientIP: { timeoutSeconds } },
});
const SPECS: Readonly<Record<keyof typeof SERVICES, Partial<ServiceSpec>>> = {
  web: { type: 'NodePort' },
  sticky: sticky(LONG_SECONDS),
  brief: sticky(BRIEF_SECONDS),
  home: { type: 'NodePort', externalTrafficPolicy: 'Local' },
};

function wanted(mode: ProxyAlone['config']['mode']): ProxyAlone {
  const names = Object.keys(SERVICES) as (keyof typeof SERVICES)[];
  return {
    config: {
      nodeName: 'node-1',
      nftTable: 'kt',
      clusterCidr: `${CLUSTER_CIDR},${CLUSTER_CIDR_6}`,
      serviceCidr: `${SERVICE_CIDR},${SERVICE_CIDR_6}`,
      masqueradeMark: 0x4001_0000,
      mode,
    },
    nodeAddresses: [NODE_IP],
    services: names.map((name) => ({
      metadata: { namespace: 'default', name },
      spec: {
        type: 'ClusterIP',
        clusterIP: `10.43.0.${SERVICES[name]}`,
        clusterIPs: [`10.43.0.${SERVICES[name]}`, `fd00:43::${SERVICES[name]}`],
        ...SPECS[name],
        ports: [
          {
            port: 80,
            protocol: 'TCP',
            targetPort: 8080,
            ...(SPECS[name].type === 'NodePort' && { nodePort: 30_000 + SERVICES[name] }),
          },
        ],
      },
    })),
    slices: names.flatMap((name) =>
      ([4, 6] as const).map((family) => ({
        metadata: {
          namespace: 'default',
          name: `${name}-${family}`,
          labels: { 'kubernetes.io/service-name': name },
        },
        addressType: `IPv${family}`,
        ports: [{ port: 8080, protocol: 'TCP' }],
        endpoints: [2, 3].map((n) => ({
          addresses: [family === 4 ? `10.42.0.${n}` : `fd00:42::${n}`],
          nodeName: 'node-1',
        })),
      })),
    ),
    pods: [],
  };
}

describe('traffic through the proxy', { skip }, () => {
  let network: TestNetwork;
  before(async () => {
    network = createTestNetwork();
    for (const [name, address] of Object.entries(PODS)) await network.addPod(name, address);
  });
  after(() => network?.remove());

  const address = (name: keyof typeof SERVICES, family: 4 | 6): string =>
    `${family === 4 ? '10.43.0.' : 'fd00:43::'}${SERVICES[name]}`;
  /** The name of the endpoint, and the client address it received. */
  const ask = (from: string, to: string, port = 80): { pod: string; client: string } => {
    const [pod = '', client = ''] = network.tcp(from, to, port).split(' ');
    return { pod, client };
  };
  const clientsSeen = async (from: string, to: string, port = 80): Promise<ReadonlyMap<string, string>> => {
    const seen = new Map<string, string>();
    await until(`both endpoints at ${to} from ${from}`, async () => {
      const { pod, client } = ask(from, to, port);
      if (pod !== '') seen.set(pod, client);
      return seen.size === 2;
    });
    return seen;
  };

  for (const mode of ['nftables', 'iptables', 'userspace'] as const)
    describe(mode, () => {
      let proxy: Running;
      before(async () => {
        const command = ['netns', 'exec', network.ns('node'), process.execPath, PROGRAM, JSON.stringify(wanted(mode))];
        proxy = start('ip', command);
        await proxy.until(/synced/);
      });
      after(async () => {
        proxy.kill();
        const { code, stderr } = await proxy.ended();
        assert.deepEqual([code, stderr], [0, '']);
        assert.doesNotMatch(network.run('node', 'nft', 'list', 'ruleset'), /KUBE-SERVICES|table ip6? kt/);
      });

      it('masquerades only connections whose answers would not return to the proxy', async () => {
        // In the userspace mode endpoints always receive the address of the node.
        const node = mode === 'userspace';
        const own = await clientsSeen('b', address('web', 4));
        assert.deepEqual([own.get('a'), own.get('b')], node ? ['10.42.0.1', '10.42.0.1'] : [PODS.b, '10.42.0.1']);
        const six = await clientsSeen('b', address('web', 6));
        assert.deepEqual(
          [six.get('a'), six.get('b')],
          node ? ['fd00:42::1', 'fd00:42::1'] : ['fd00:42::3', 'fd00:42::1'],
        );
        for (const [port, client] of [
          [30_000 + SERVICES.web, '10.42.0.1'],
          [30_000 + SERVICES.home, node ? '10.42.0.1' : OUTSIDE_IP],
        ] as const)
          assert.deepEqual(new Set((await clientsSeen('outside', NODE_IP, port)).values()), new Set([client]));
      });

      for (const family of [4, 6] as const) {
        it(`keeps a client with its endpoint (IPv${family})`, () => {
          const seen = new Set(Array.from({ length: 12 }, () => ask('node', address('sticky', family)).pod));
          assert.equal(seen.size, 1, [...seen].join());
          assert.match([...seen].join(), /^[ab]$/);
        });

        it(`until its timeout is over (IPv${family})`, async () => {
          const seen = new Set<string>();
          await until('another endpoint', async () => {
            seen.add(ask('node', address('brief', family)).pod);
            await sleep((BRIEF_SECONDS + 0.2) * 1000); // Longer than the timeout of the affinity without a request of this client.
            seen.delete('');
            return seen.size === 2;
          });
        });
      }
    });
});
