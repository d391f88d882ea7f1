/** `keelson up --nodes 3`: three real nodes on one machine, over their whole lifetime. */
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { testImage } from '../../tools/test-image.ts';
import { hashOf, images, keelson, startCluster, type TestCluster } from './cluster-fixture.ts';
import { leftovers } from './fixtures/leftovers.ts';
import { must } from './fixtures/programs.ts';

interface ListedNode {
  readonly name: string;
  readonly state: string;
  readonly address: string;
  readonly dataDir: string;
}

interface Pod {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly nodeName: string };
  readonly status: {
    readonly podIP: string;
    readonly containerStatuses: readonly { readonly restartCount: number; readonly containerID: string }[];
  };
}

describe('three nodes on one machine', () => {
  let cluster: TestCluster;
  let second: ListedNode;
  let third: ListedNode;
  let archive: string;
  before(async () => {
    cluster = await startCluster({ flags: ['--nodes', '3', '--node-name', 'home'], images: false });
    archive = join(cluster.dataDir, 'test.tar');
    writeFileSync(archive, testImage().archive);
    [second, third] = (await list()) as [ListedNode, ListedNode];
  });
  after(async () => {
    await cluster?.stop();
    for (const { dataDir } of [second, third])
      assert.deepEqual(await leftovers({ ...cluster, hash: hashOf(dataDir), dataDir }), []);
  });

  const list = async (): Promise<readonly ListedNode[]> =>
    JSON.parse(await command('node', 'ls', '--output', 'json')) as ListedNode[];
  const command = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await keelson([...args, '--data-dir', cluster.dataDir]);
    assert.equal(code, 0, stdout + stderr);
    return stdout;
  };
  const act = async (action: string, name: string): Promise<string> => (await command('node', action, name)).trim();
  const pods = async (app: string): Promise<readonly Pod[]> => {
    const { items } = JSON.parse(await cluster.kubectl(`get pods -l app=${app} -o json`)) as { items: Pod[] };
    return items.toSorted((a, b) => (a.spec.nodeName < b.spec.nodeName ? -1 : 1));
  };
  const fetchFrom = async (pod: string, url: string): Promise<string> =>
    (await cluster.outcome(['exec', pod, '--', 'curl', '-s', '-m', '3', url])).stdout.trim();
  const readyNodes = async (): Promise<readonly string[]> =>
    (await cluster.kubectl('get nodes --no-headers'))
      .split('\n')
      .flatMap((line) => /^(\S+) +Ready\b/.exec(line)?.[1] ?? []);

  it('are Ready with names and addresses of their own', async () => {
    assert.deepEqual(await readyNodes(), ['home', 'home-2', 'home-3']);
    const wide = await cluster.kubectl('get nodes -o wide --no-headers');
    assert.deepEqual([second.name, third.name], ['home-2', 'home-3']);
    for (const { name, address } of [second, third]) {
      assert.match(address, /^10\.58\.\d+\.[23]$/);
      assert.match(wide, new RegExp(`^${name} .* ${address.replaceAll('.', '\\.')} `, 'm'));
    }
    assert.match(await command('status'), /on machine +home-2 running \(10\.58\.\d+\.2\), home-3 running/);
    const clusters = JSON.parse((await keelson('ls --output json')).stdout) as { dataDir: string; state: string }[];
    assert.deepEqual(
      clusters.filter(({ dataDir }) => dataDir.startsWith(cluster.dataDir)).map(({ state }) => state),
      ['running (3 nodes)'],
    );
    assert.match(await command('logs', '--node', 'home-2', '--tail', 'all'), /Successfully registered node/);
  });

  it('receive an image that is loaded once, and each runs pods of it', async () => {
    assert.match(await command('image', 'load', archive), /^loaded localhost\/keelson\/test:1 /);
    const template = {
      metadata: { labels: { app: 'web' } },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [{ name: 'web', image: images.test, ports: [{ containerPort: 8080 }] }],
      },
    };
    await cluster.apply({
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'web' },
      spec: { selector: { matchLabels: { app: 'web' } }, template },
    });
    await cluster.apply({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web' },
      spec: { type: 'NodePort', selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
    });
    await cluster.kubectl('rollout status daemonset/web --timeout=120s');
    assert.deepEqual(
      (await pods('web')).map(({ spec }) => spec.nodeName),
      ['home', 'home-2', 'home-3'],
    );
  });

  it('have pods that reach each other and a service by its name, and serve logs, exec and port-forward', async () => {
    const all = await pods('web');
    for (const { metadata } of all) {
      for (const to of all)
        await cluster.until(`${metadata.name} to ${to.metadata.name}`, async () => {
          const host = await fetchFrom(metadata.name, `http://${to.status.podIP}:8080/cgi-bin/hostname`);
          return host === to.metadata.name;
        });
      const byName = () => fetchFrom(metadata.name, 'http://web.default.svc/cgi-bin/hostname');
      await cluster.until('the service', async () => (await byName()).startsWith('web-'));
      assert.match(await cluster.kubectl(`logs ${metadata.name}`), /serving/);
      const forward = cluster.start(`port-forward pod/${metadata.name} :8080`);
      await forward.until(/127\.0\.0\.1:(\d+) ->/);
      const port = /127\.0\.0\.1:(\d+) ->/.exec(forward.stdout())?.[1];
      assert.equal((await must('curl', ['-s', `http://127.0.0.1:${port}/cgi-bin/hostname`])).trim(), metadata.name);
      forward.kill('SIGTERM');
    }
  });

  it('each answer on a node port', async () => {
    const port = await cluster.kubectl('get service web -o jsonpath={.spec.ports[0].nodePort}');
    const addresses = await cluster.kubectl(
      'get nodes -o jsonpath={.items[*].status.addresses[?(@.type=="InternalIP")].address}',
    );
    assert.equal(addresses.split(' ').length, 3);
    for (const address of addresses.split(' '))
      await cluster.until(`the node port of ${address}`, async () =>
        (await must('curl', ['-s', '-m', '3', `http://${address}:${port}/cgi-bin/hostname`])).startsWith('web-'),
      );
  });

  it('enforce network policies', async () => {
    const [home] = await pods('web');
    const url = async (): Promise<string> => `http://${(await pods('web'))[1]!.status.podIP}:8080/cgi-bin/hostname`;
    await cluster.apply({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'closed' },
      spec: { podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Ingress'] },
    });
    await cluster.until('the policy', async () => (await fetchFrom(home!.metadata.name, await url())) === '');
    await cluster.kubectl('delete networkpolicy closed');
    await cluster.until('its end', async () => (await fetchFrom(home!.metadata.name, await url())) !== '');
  });

  it('run on without the server, and are adopted by the next', async () => {
    const before_ = await pods('web');
    const agents = await Promise.all([second, third].map(pidOf));
    process.kill(await cluster.pid(), 'SIGKILL');
    await cluster.up();
    assert.equal((await readyNodes()).length, 3);
    assert.deepEqual(
      (await pods('web')).map(({ status }) => status.containerStatuses[0]?.containerID),
      before_.map(({ status }) => status.containerStatuses[0]?.containerID),
    );
    assert.deepEqual(await Promise.all([second, third].map(pidOf)), agents);
  });

  it('can be drained', async () => {
    await cluster.apply({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'spread' },
      spec: {
        replicas: 3,
        selector: { matchLabels: { app: 'spread' } },
        template: {
          metadata: { labels: { app: 'spread' } },
          spec: {
            terminationGracePeriodSeconds: 1,
            topologySpreadConstraints: [
              {
                maxSkew: 1,
                topologyKey: 'kubernetes.io/hostname',
                whenUnsatisfiable: 'ScheduleAnyway',
                labelSelector: { matchLabels: { app: 'spread' } },
              },
            ],
            tolerations: ['not-ready', 'unreachable'].map((key) => ({
              key: `node.kubernetes.io/${key}`,
              operator: 'Exists',
              effect: 'NoExecute',
              tolerationSeconds: 1,
            })),
            containers: [{ name: 'web', image: images.test }],
          },
        },
      },
    });
    await cluster.kubectl('rollout status deployment/spread --timeout=120s');
    assert.deepEqual(
      (await pods('spread')).map(({ spec }) => spec.nodeName),
      ['home', 'home-2', 'home-3'],
    );
    await cluster.kubectl('drain home-2 --ignore-daemonsets --timeout=60s');
    await cluster.kubectl('rollout status deployment/spread --timeout=120s');
    assert.ok((await pods('spread')).every(({ spec }) => spec.nodeName !== 'home-2'));
    await cluster.kubectl('uncordon home-2');
  });

  it('lose their pods when they are stopped, and are Ready again when they are started', async () => {
    assert.equal(await act('stop', 'home-3'), 'home-3 was stopped');
    assert.equal(await act('stop', 'home-3'), 'home-3 is stopped already');
    assert.equal((await list())[1]?.state, 'stopped');
    assert.deepEqual(
      (await leftovers({ ...cluster, hash: hashOf(third.dataDir), dataDir: third.dataDir })).filter(
        (line) => line.startsWith('process') || line.startsWith('cgroup') || line.startsWith('mount'),
      ),
      [],
    );
    await cluster.until('NotReady', async () => !(await readyNodes()).includes('home-3'), 120_000);
    await cluster.until('its pods elsewhere', async () => {
      const all = await pods('spread');
      return all.filter(({ spec }) => spec.nodeName !== 'home-3').length === 3;
    });
    assert.equal(await act('start', 'home-3'), 'home-3 was started');
    await cluster.until('Ready again', async () => (await readyNodes()).includes('home-3'));
    await cluster.kubectl('rollout status daemonset/web --timeout=120s');
  });

  it('can be disconnected and connected again', async () => {
    const [home, cut] = (await pods('web')) as [Pod, Pod];
    const reached = async (): Promise<boolean> =>
      (await fetchFrom(home.metadata.name, `http://${cut.status.podIP}:8080/cgi-bin/hostname`)) === cut.metadata.name;
    assert.equal(await act('partition', 'home-2'), 'home-2 is cut off from all others');
    assert.equal((await list())[0]?.state, 'partitioned');
    assert.equal(await reached(), false);
    assert.equal(await act('heal', 'home-2'), 'home-2 is connected again');
    await cluster.until('the pod', reached);
  });

  it('are created again after a loss of power, by the start of the cluster or of the node', async () => {
    assert.equal(await act('kill', 'home-2'), 'home-2 was killed');
    assert.equal(await act('start', 'home-2'), 'home-2 was started');
    await cluster.until('pods on it', async () => {
      const pod = (await pods('web')).find(({ spec }) => spec.nodeName === 'home-2');
      return (pod?.status.containerStatuses[0]?.restartCount ?? 0) > 0;
    });
    await cluster.kubectl('rollout status daemonset/web --timeout=120s');
  });

  it('are the same after down and up, which remembers their number', async () => {
    const uids = () => cluster.kubectl('get nodes -o jsonpath={.items[*].metadata.uid}');
    const before_ = await uids();
    await command('down');
    assert.deepEqual(
      (await list()).map(({ state }) => state),
      ['stopped', 'stopped'],
    );
    await command('up', '--detach');
    assert.equal(await uids(), before_);
    assert.deepEqual(await list(), [second, third]);
    await cluster.kubectl('rollout status daemonset/web --timeout=120s');
  });

  it('report faults in one line', async () => {
    const refused = async (...args: string[]): Promise<string> => {
      const { code, stderr } = await keelson([...args, '--data-dir', cluster.dataDir]);
      assert.notEqual(code, 0);
      return stderr;
    };
    assert.match(
      await refused('node', 'stop', 'nobody'),
      /^keelson: there is no node nobody here; nodes: home-2, home-3\n$/,
    );
    assert.match(await refused('node', 'stop', 'home'), /^keelson: home is the machine itself: .*\n$/);
    assert.match(await refused('logs', '--node', 'nobody'), /^keelson: --node: nobody is no further node .*\n$/);
    assert.match(await refused('up', '--nodes', '0'), /\nkeelson: --nodes: 0 is not a number between 1 and 20\n$/);
  });

  it('are removed by a start with fewer', async () => {
    await command('down');
    await command('up', '--nodes', '2', '--detach');
    assert.deepEqual(await readyNodes(), ['home', 'home-2']);
    assert.deepEqual(await list(), [second]);
    assert.equal(existsSync(third.dataDir), false);
  });
});

/** The pid of a node's agent. */
async function pidOf({ dataDir }: ListedNode): Promise<number> {
  const { stdout } = await keelson(['status', '--output', 'json', '--data-dir', dataDir]);
  return (JSON.parse(stdout) as { pid: number }).pid;
}
