/** kill -9 of each process of a real cluster: it is restarted, and pods and services are not affected. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { freePlace, hashOf, images, importImages, keelson, upArgs, type ClusterPlace } from './cluster-fixture.ts';
import { leftovers } from './fixtures/leftovers.ts';
import { hasEnded, must, run } from './fixtures/programs.ts';
import { until } from './fixtures/until.ts';
import { kubectlProgram } from '../../tools/kubectl.ts';
import type { ClusterStatus } from '../../src/cluster/cluster-status.ts';

const env = { ...process.env, KEELSON_RESTART: 'always', KEELSON_HEALTHY_SECONDS: '0' };

/** The process of this instance that has a matching argument. */
function processOf({ dataDir, hash }: ClusterPlace, matches: (command: readonly string[]) => boolean): number {
  const found = readdirSync('/proc').find((name) => {
    if (!/^\d+$/.test(name) || hasEnded(Number(name))) return false;
    const command = commandOf(Number(name));
    return command.some((part) => part.includes(dataDir) || part.includes(`/${hash}/`)) && matches(command);
  });
  return Number(found ?? 0);
}

function commandOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return []; // The process has just ended.
  }
}

const isServer = (command: readonly string[]): boolean => command[2] === 'up' && !command[0]!.endsWith('sh');

describe('kill -9 of every process of a cluster', () => {
  let place: ClusterPlace;
  const kubectl = (args: string): Promise<string> =>
    must(kubectlProgram(), ['--kubeconfig', `${place.dataDir}/admin.kubeconfig`, ...args.split(' ')]);
  const status = async (): Promise<ClusterStatus> =>
    JSON.parse((await keelson(['status', '--output', 'json', '--data-dir', place.dataDir])).stdout) as ClusterStatus;

  before(async () => {
    place = await freePlace();
    const { code, stderr } = await keelson([...upArgs(place), '--detach'], { env });
    assert.equal(code, 0, stderr);
    await importImages(place);
    await kubectl(`run web --image=${images.test} --labels=app=web`);
    await kubectl(
      `run outside --image=${images.test} --overrides={"spec":{"hostNetwork":true,"securityContext":{"runAsUser":65534}}}`,
    );
    await kubectl('expose pod web --port=80 --target-port=8080');
    await kubectl('wait --for=condition=Ready pod/web pod/outside --timeout=120s');
  });
  after(async () => {
    const { code, stderr } = await keelson(['down', '--delete-data', '--data-dir', place.dataDir]);
    assert.deepEqual([code, stderr, await leftovers(place)], [0, '', []]);
  });

  const kinds: readonly (readonly [string, (command: readonly string[]) => boolean])[] = [
    ['keelson up', isServer],
    ['its supervisor', (command) => command.some((part) => part.endsWith('/supervise'))],
    ['DNS', (command) => command.includes('dns-server')],
    ['containerd', ([program]) => program === 'containerd'],
    ['keelson up, whose supervisor adopted it', isServer],
  ];
  for (const [what, matches] of kinds)
    it(`${what}: it is restarted, the service always answers, no container restarts`, async (t) => {
      const address = await kubectl('get service web -o jsonpath={.spec.clusterIP}');
      const pid = processOf(place, matches);
      assert.notEqual(pid, 0, what);
      const startedMs = performance.now();
      process.kill(pid, 'SIGKILL');
      await until(`${what} runs again`, async () => {
        assert.equal((await fetch(`http://${address}/cgi-bin/hostname`)).status, 200);
        const now = processOf(place, matches);
        return now !== 0 && now !== pid;
      });
      const runsMs = performance.now() - startedMs;
      await until('the API answers', async () => {
        const { code } = await run(kubectlProgram(), [
          ...['--kubeconfig', `${place.dataDir}/admin.kubeconfig`, 'get', '--raw', '/readyz'],
        ]);
        return code === 0;
      });
      t.diagnostic(
        `runs after ${Math.round(runsMs)} ms, /readyz after ${Math.round(performance.now() - startedMs)} ms`,
      );
      await until('all is well', async () => (await status()).components.every(({ healthy }) => healthy));
      const restarts = await kubectl('get pods -o jsonpath={.items[*].status.containerStatuses[*].restartCount}');
      assert.deepEqual(new Set(restarts.split(' ')), new Set(['0']));
    });

  it('status and an event of the node report the number of restarts and the reason', async () => {
    const { restarts } = await status();
    assert.equal(restarts?.count, 2);
    const events = await until('the event', async () => {
      const text = await kubectl('get events --field-selector=reason=KeelsonRestarted -o wide --no-headers');
      return text.includes('restart 2') && text;
    });
    assert.match(events, /Warning +KeelsonRestarted +node\/\S+ .*Keelson ended abnormally \(signal SIGKILL\)/);
  });

  it('a containerd shim: its containers end with it, the pod gets new ones, other pods run on', async () => {
    const sandboxOf = (pod: string): Promise<string> =>
      must('ctr', [
        ...['--address', `/run/keelson/${place.hash}/containerd.sock`, '--namespace', 'k8s.io'],
        ...['containers', 'list', '--quiet', `labels."io.kubernetes.pod.name"==${pod}`],
      ]);
    const ids = (await sandboxOf('web')).trim().split('\n');
    const isShim = (command: readonly string[]): boolean =>
      command[0]!.endsWith('containerd-shim-runc-v2') && ids.includes(command[command.indexOf('-id') + 1] ?? '');
    const pid = processOf(place, isShim);
    assert.notEqual(pid, 0);
    process.kill(pid, 'SIGKILL');
    const restarts = (pod: string): Promise<string> =>
      kubectl(`get pod ${pod} -o jsonpath={.status.containerStatuses[*].restartCount}`);
    await until('a new container', async () => Number(await restarts('web')) > 0);
    await kubectl('wait --for=condition=Ready pod/web --timeout=120s');
    assert.equal(await restarts('outside'), '0');
    const address = await kubectl('get service web -o jsonpath={.spec.clusterIP}');
    await until('the service', async () => (await fetch(`http://${address}/cgi-bin/hostname`)).status === 200);
  });

  it('a pod on the network of the host cannot query or stop it', async () => {
    const sockets = await kubectl('exec outside -- cat /proc/net/unix');
    assert.match(sockets, /control\.sock/, 'the pod shares the network namespace');
    assert.doesNotMatch(sockets, new RegExp(`@.*${hashOf(place.dataDir)}`));
    const { code } = await run(kubectlProgram(), [
      ...[
        '--kubeconfig',
        `${place.dataDir}/admin.kubeconfig`,
        'exec',
        'outside',
        '--',
        'ls',
        `/run/keelson/${place.hash}`,
      ],
    ]);
    assert.notEqual(code, 0);
  });
});
