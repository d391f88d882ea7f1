/** Network policies between real pods of two machines: a table of policies, with the permitted connections of each. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { images } from './cluster-fixture.ts';
import { createMachines, type Machine, type Machines } from './fixtures/machines.ts';
import { until } from './fixtures/until.ts';

/** Pods: namespace/name → node. Each serves `http` (8080) and `admin` (9090). */
const pods = { 'shop/web': 'server', 'shop/db': 'agent', 'shop/cron': 'server', 'other/probe': 'agent' } as const;
type PodName = keyof typeof pods;

interface Case {
  readonly name: string;
  /** Policies of the namespace `shop`. */
  readonly policies: readonly object[];
  /** `from to port`: the permitted connections; all others must fail. */
  readonly open: readonly string[];
  readonly shut: readonly string[];
}

const select = (app: string) => ({ podSelector: { matchLabels: { app } } });
const other = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'other' } } };

const cases: readonly Case[] = [
  {
    name: 'none: everybody reaches everybody',
    policies: [],
    open: ['web db 8080', 'db web 8080', 'probe db 9090', 'web probe 8080'],
    shut: [],
  },
  {
    name: 'default deny of ingress',
    policies: [{ podSelector: {}, policyTypes: ['Ingress'] }],
    open: ['web probe 8080', 'web web 8080'],
    shut: ['web db 8080', 'db web 8080', 'probe web 8080', 'cron web 8080'],
  },
  {
    name: 'default deny of egress',
    policies: [{ podSelector: {}, policyTypes: ['Egress'] }],
    open: ['probe web 8080', 'web web 8080'],
    shut: ['web db 8080', 'web probe 8080', 'db web 8080'],
  },
  {
    name: 'from pods of the namespace, one port by number',
    policies: [{ ...select('db'), ingress: [{ from: [select('web')], ports: [{ port: 8080 }] }] }],
    open: ['web db 8080', 'db web 9090'],
    shut: ['web db 9090', 'cron db 8080', 'probe db 8080'],
  },
  {
    name: 'from another namespace, a port by name',
    policies: [{ ...select('web'), ingress: [{ from: [other], ports: [{ port: 'admin' }] }] }],
    open: ['probe web 9090', 'probe db 8080'],
    shut: ['probe web 8080', 'db web 9090', 'cron web 9090'],
  },
  {
    name: 'a range of ports, of a pod and a namespace together',
    policies: [
      {
        ...select('web'),
        ingress: [{ from: [{ ...other, ...select('probe') }], ports: [{ port: 9000, endPort: 9100 }] }],
      },
    ],
    open: ['probe web 9090'],
    shut: ['probe web 8080', 'db web 9090'],
  },
  {
    name: 'another protocol alone lets no TCP in',
    policies: [{ ...select('web'), ingress: [{ ports: [{ protocol: 'UDP', port: 8080 }] }] }],
    open: [],
    shut: ['db web 8080'],
  },
  {
    name: 'to addresses, except some',
    policies: [
      {
        ...select('web'),
        policyTypes: ['Egress'],
        egress: [{ to: [{ ipBlock: { cidr: '10.42.0.0/16', except: ['DB/32'] } }] }],
      },
    ],
    open: ['web probe 8080', 'web cron 8080', 'db web 8080'],
    shut: ['web db 8080'],
  },
  {
    name: 'to pods by the name of their port',
    policies: [
      { ...select('web'), policyTypes: ['Egress'], egress: [{ to: [select('db')], ports: [{ port: 'admin' }] }] },
    ],
    open: ['web db 9090', 'web web 8080'],
    shut: ['web db 8080', 'web probe 9090'],
  },
  {
    name: 'several policies add up, both sides must agree',
    policies: [
      { podSelector: {}, policyTypes: ['Ingress', 'Egress'] },
      { ...select('web'), policyTypes: ['Egress'], egress: [{ to: [select('db')] }] },
      { ...select('db'), ingress: [{ from: [select('web')] }] },
      { ...select('cron'), ingress: [{}] },
    ],
    open: ['web db 8080', 'web db 9090', 'probe cron 8080'],
    shut: ['web cron 8080', 'db web 8080', 'cron db 8080', 'web probe 8080'],
  },
];

describe('network policies', () => {
  let machines: Machines;
  let server: Machine;
  const addresses = new Map<string, string>();

  before(async () => {
    machines = await createMachines([0, 0]);
    const [first, agent] = machines.list as [Machine, Machine];
    server = first;
    await server.keelson('server --node-name server --detach');
    const command = await server.keelson('token create --print-join-command');
    await agent.keelson(['agent', ...command.trim().split(' ').slice(2), '--node-name', 'agent', '--detach']);
    await Promise.all([server.importImages(), agent.importImages()]);
    await server.kubectl('create namespace shop');
    await server.kubectl('create namespace other');
    for (const [key, node] of Object.entries(pods))
      // Pods are refused until the namespace has its service account.
      await until(`${key} is taken`, () =>
        server.kubectl('apply -f -', { input: JSON.stringify(manifest(key, node)) }),
      );
    for (const key of Object.keys(pods)) {
      const [namespace = '', name = ''] = key.split('/');
      await server.kubectl(`-n ${namespace} wait --for=condition=Ready pod/${name} --timeout=120s`);
      addresses.set(name, await server.kubectl(`-n ${namespace} get pod ${name} -o jsonpath={.status.podIP}`));
    }
  });
  after(() => machines?.remove());

  const reaches = async (way: string): Promise<boolean> => {
    const [from = '', to = '', port = ''] = way.split(' ');
    const key = Object.keys(pods).find((name) => name.endsWith(`/${from}`)) as PodName;
    const url = `http://${addresses.get(to)}:${port}/`;
    const exec = [
      '-n',
      key.split('/')[0] ?? '',
      'exec',
      from,
      '-c',
      'http',
      '--',
      'curl',
      '-s',
      '-m',
      '2',
      '-o',
      '/dev/null',
      url,
    ];
    return server.kubectl(exec).then(
      () => true,
      () => false,
    );
  };

  for (const { name, policies, open, shut } of cases)
    it(name, async () => {
      await server.kubectl('-n shop delete networkpolicies --all');
      const items = policies.map((spec, index) => ({
        apiVersion: 'networking.k8s.io/v1',
        kind: 'NetworkPolicy',
        metadata: { namespace: 'shop', name: `policy-${index}` },
        spec,
      }));
      const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items }).replaceAll(
        'DB',
        addresses.get('db') ?? '',
      );
      if (items.length > 0) await server.kubectl('apply -f -', { input });
      const wanted = [...open.map((way) => [way, true] as const), ...shut.map((way) => [way, false] as const)];
      const see = () => Promise.all(wanted.map(async ([way]) => [way, await reaches(way)] as const));
      let seen = await see();
      // The last change may not have reached the other machine.
      await until(
        'the rules',
        async () => JSON.stringify(seen) === JSON.stringify(wanted) || void (seen = await see()),
      ).catch(() => undefined);
      assert.deepEqual(seen, wanted);
    });

  it('always accepts this machine, applies label changes, and repairs its rules', async () => {
    await server.kubectl('-n shop delete networkpolicies --all');
    const spec = { ...select('web'), ingress: [{ from: [select('cron')] }] };
    const policy = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { namespace: 'shop', name: 'web' },
      spec,
    };
    await server.kubectl('apply -f -', { input: JSON.stringify(policy) });
    await until('deny', async () => !(await reaches('db web 8080')));
    assert.match(await server.fetch(`http://${addresses.get('web')}:8080/`), /Hello/);
    await server.kubectl('-n shop label pod db app=cron --overwrite');
    await until('its new label', () => reaches('db web 8080'));
    await server.kubectl('-n shop label pod db app=db --overwrite');
    await until('its old label', async () => !(await reaches('db web 8080')));
    await server.must('nft', `delete table ip keelson-${server.hash}-policies`);
    // Repaired within a minute; the table may be back before its absence could be observed.
    await until('the table', async () => (await server.must('nft', 'list tables')).includes('-policies'));
    await until('deny again', async () => !(await reaches('db web 8080')));
    await server.kubectl('-n shop delete networkpolicies --all');
    await until('nothing left', async () => !(await server.must('nft', 'list tables')).includes('-policies'));
  });
});

function manifest(key: string, nodeName: string): object {
  const [namespace = '', name = ''] = key.split('/');
  const container = (port: string, containerPort: number) => ({
    name: port,
    image: images.test,
    env: [{ name: 'PORT', value: String(containerPort) }],
    ports: [{ name: port, containerPort }],
  });
  const containers = [container('http', 8080), container('admin', 9090)];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, labels: { app: name } },
    spec: { nodeName, terminationGracePeriodSeconds: 1, containers },
  };
}
