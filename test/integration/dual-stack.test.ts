/** A cluster with IPv4 and IPv6: three machines, the last one behind a router and without an IPv6 address of its own. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { images } from './cluster-fixture.ts';
import { createMachines, type Machine, type Machines } from './fixtures/machines.ts';
import { until } from './fixtures/until.ts';

const RANGES = '--cluster-cidr 10.42.0.0/16,fd42::/56 --service-cidr 10.43.0.0/16,fd43::/112';

interface PodIps {
  readonly status: { readonly podIPs?: readonly { readonly ip: string }[] };
}
interface ServiceSpec {
  readonly spec: {
    readonly clusterIPs: readonly string[];
    readonly ipFamilies: readonly string[];
    readonly ipFamilyPolicy: string;
  };
}

describe('dual stack', () => {
  let machines: Machines;
  let server: Machine;
  let agent: Machine;
  let far: Machine;
  before(async () => {
    machines = await createMachines([0, 0, 1]);
    [server, agent, far] = machines.list as [Machine, Machine, Machine];
    for (const [at, machine] of [server, agent].entries())
      await machine.must('ip', `-6 addr add fd30::${at + 1}/64 dev eth0 nodad`);
    await server.keelson(`server --node-name server ${RANGES} --detach`);
    const token = (await server.keelson('token create')).trim();
    await Promise.all(
      [agent, far].map((machine, at) =>
        machine.keelson(
          `agent --node-name ${['agent', 'far'][at]} --server https://${server.address}:6443 --token ${token} --detach`,
        ),
      ),
    );
    await Promise.all(machines.list.map((machine) => machine.importImages()));
    for (const node of ['server', 'agent', 'far']) {
      const overrides = JSON.stringify({ spec: { nodeName: node, terminationGracePeriodSeconds: 1 } });
      await server.kubectl([
        ...['run', `on-${node}`, `--image=${images.test}`, `--overrides=${overrides}`, '--labels=app=web'],
      ]);
    }
    const web = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web' },
      spec: {
        type: 'NodePort',
        ipFamilyPolicy: 'RequireDualStack',
        selector: { app: 'web' },
        ports: [{ port: 80, targetPort: 8080, nodePort: 30080 }],
      },
    };
    await server.kubectl('apply -f -', { input: JSON.stringify(web) });
    await server.kubectl('wait --for=condition=Ready pod --all --timeout=120s');
  });
  after(() => machines?.remove());

  const get = async <T>(what: string): Promise<T> => JSON.parse(await server.kubectl(`get ${what} -o json`)) as T;
  const podIps = async (pod: string): Promise<readonly string[]> =>
    ((await get<PodIps>(`pod ${pod}`)).status.podIPs ?? []).map(({ ip }) => ip);
  const fromPod = async (pod: string, ...args: string[]): Promise<string> =>
    (await server.kubectl(['exec', pod, '--', 'curl', '-s', '-m', '3', ...args])).trim();
  const NAMES = ['on-server', 'on-agent', 'on-far'];

  it('gives nodes a range and pods an address of each family', async () => {
    for (const node of ['server', 'agent', 'far']) {
      const { spec } = await get<{ spec: { podCIDRs: string[] } }>(`node ${node}`);
      assert.match(spec.podCIDRs.join(), /^10\.42\.\d+\.0\/24,fd42:.*\/64$/);
      const [v4 = '', v6 = ''] = await podIps(`on-${node}`);
      assert.match(v4, /^10\.42\./);
      assert.match(v6, /^fd42:/);
    }
    const addresses = await server.kubectl('get node agent -o jsonpath={.status.addresses[*].address}');
    assert.match(addresses, /172\.30\.0\.2 .*fd30::2/);
  });

  it('gives services the families they request', async () => {
    const { spec } = await get<ServiceSpec>('service web');
    assert.deepEqual(spec.ipFamilies, ['IPv4', 'IPv6']);
    assert.match(spec.clusterIPs.join(), /^10\.43\.\d+\.\d+,fd43::/);
    await until('slices of both families', async () => {
      const types = await server.kubectl(
        'get endpointslices -l kubernetes.io/service-name=web -o jsonpath={..addressType}',
      );
      assert.deepEqual(types.split(' ').toSorted(), ['IPv4', 'IPv6']);
      return true;
    });
    assert.equal((await get<ServiceSpec>('service kubernetes')).spec.ipFamilyPolicy, 'SingleStack');
    await server.kubectl('create service clusterip plain --tcp=80:8080');
    assert.deepEqual((await get<ServiceSpec>('service plain')).spec.ipFamilies, ['IPv4']);
  });

  it('connects pods of all nodes in both families, by link and by tunnel', async () => {
    for (const from of NAMES)
      for (const to of NAMES)
        for (const ip of await podIps(to)) {
          const url = `http://${ip.includes(':') ? `[${ip}]` : ip}:8080/cgi-bin/hostname`;
          await until(`${from} to ${to} at ${ip}`, async () => (await fromPod(from, url)) === to);
        }
    assert.match(await agent.must('ip', '-6 route'), /via fd30::1 dev eth0 proto 199/);
    assert.match(await far.must('ip', '-6 route'), new RegExp(`dev kv${far.hash} proto 199 .*onlink`));
  });

  it('serves services in both families: from pods by address and by name, from nodes, at node ports', async () => {
    const { clusterIPs } = (await get<ServiceSpec>('service web')).spec;
    const all = async (what: string, ask: () => Promise<string>): Promise<void> => {
      const seen = new Set<string>();
      await until(`all three ${what}`, async () => {
        const name = await ask();
        if (NAMES.includes(name)) seen.add(name);
        return seen.size === 3;
      });
    };
    for (const ip of clusterIPs) {
      const url = `http://${ip.includes(':') ? `[${ip}]` : ip}/cgi-bin/hostname`;
      for (const pod of ['on-server', 'on-far']) await all(`from ${pod} at ${ip}`, () => fromPod(pod, url));
      await all(`from a node at ${ip}`, () => agent.fetch(url));
    }
    for (const family of ['-4', '-6'])
      await all(`by name ${family}`, () => fromPod('on-agent', family, 'http://web/cgi-bin/hostname'));
    for (const host of [server.address, '[fd30::1]'])
      await all(`at the node port of ${host}`, () => agent.fetch(`http://${host}:30080/cgi-bin/hostname`));
  });

  it('enforces network policies in both families', async () => {
    const policy = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'closed' },
      spec: { podSelector: { matchLabels: { run: 'x' } }, policyTypes: ['Ingress'] },
    };
    await server.kubectl('label pod on-agent run=x --overwrite');
    await server.kubectl('apply -f -', { input: JSON.stringify(policy) });
    for (const ip of await podIps('on-agent')) {
      const url = `http://${ip.includes(':') ? `[${ip}]` : ip}:8080/cgi-bin/hostname`;
      await until(`closed at ${ip}`, async () => (await server.run('curl', ['-s', '-m', '1', url])).code !== 0);
      const fromOther = ['exec', 'on-far', '--', 'curl', '-s', '-m', '1', url];
      await until(`closed to pods at ${ip}`, () =>
        server.kubectl(fromOther).then(
          () => false,
          () => true,
        ),
      );
    }
    await server.kubectl('delete networkpolicy closed');
  });
});
