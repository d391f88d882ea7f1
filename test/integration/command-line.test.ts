/** The command line on a real machine: refusals with one clear line, several clusters side by side, status, down. */
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  freePlace,
  hashOf,
  keelson,
  startCluster,
  upArgs,
  type ClusterPlace,
  type TestCluster,
} from './cluster-fixture.ts';
import { leftovers } from './fixtures/leftovers.ts';
import { keelsonProgram, run, start, type Outcome } from './fixtures/programs.ts';
import { tcpOutcome } from './fixtures/traffic.ts';

const scratch = mkdtempSync(join(tmpdir(), 'keelson-cli-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

/** One line on standard error, nothing on standard output. */
function assertRefused({ code, stdout, stderr }: Outcome, expected: { code: number; says: RegExp }): void {
  assert.equal(code, expected.code, stderr);
  assert.equal(stdout, '');
  assert.match(stderr, expected.says);
  assert.match(stderr, /^keelson: [^\n]+\n$/, 'one line');
}

describe('wrong usage is refused before anything is done', { concurrency: 2 }, () => {
  const dir = join(scratch, 'never-made');
  const cases: { args: string[]; code: number; says: RegExp }[] = [
    { args: ['up', '--data-dri', 'x'], code: 2, says: /unknown option '--data-dri' \(Did you mean --data-dir\?\)/ },
    { args: ['upp'], code: 2, says: /unknown command 'upp' \(Did you mean up\?\)/ },
    {
      args: ['up', '--data-dir', dir, '--https-port', '0'],
      code: 2,
      says: /--https-port: 0 is not a port between 1 and 65535/,
    },
    { args: ['up', '--data-dir', dir, '--https-port', 'many'], code: 2, says: /--https-port: many is not a port/ },
    {
      args: ['up', '--data-dir', dir, '--store', 'paper'],
      code: 2,
      says: /--store: paper is none of sqlite, memory and etcd=URL/,
    },
    {
      args: ['up', '--data-dir', dir, '--cluster-cidr', '10.42.0.0'],
      code: 2,
      says: /--cluster-cidr: 10\.42\.0\.0 is not an address range/,
    },
    {
      args: ['up', '--data-dir', dir, '--cluster-cidr', '10.42.0.0/33'],
      code: 2,
      says: /--cluster-cidr: 10\.42\.0\.0\/33 is not an address range/,
    },
    {
      args: ['up', '--data-dir', dir, '--cluster-cidr', '10.160.0.0/12', '--service-cidr', '10.161.0.0/16'],
      code: 2,
      says: /--cluster-cidr 10\.160\.0\.0\/12 and --service-cidr 10\.161\.0\.0\/16 overlap/,
    },
    {
      args: ['up', '--data-dir', dir, '--node-name', 'Big_Name'],
      code: 2,
      says: /--node-name: Big_Name must consist of lower case/,
    },
    { args: ['up', '--data-dir', dir, '--cluster-domain', 'a..b'], code: 2, says: /--cluster-domain: a\.\.b must/ },
    {
      args: ['up', '--data-dir', dir, '--container-runtime-endpoint', '/run/x.sock'],
      code: 2,
      says: /is not of the form unix:\/\/\/path/,
    },
    {
      args: ['up', '--data-dir', dir, '--log-level', 'loud'],
      code: 2,
      says: /Allowed choices are debug, info, warn, error/,
    },
    { args: ['up', 'now'], code: 2, says: /too many arguments/ },
    {
      args: ['status', '--data-dir', dir],
      code: 1,
      says: /no cluster runs on .*never-made \(keelson up --data-dir .*never-made starts it\)/,
    },
    { args: ['status', '--output', 'xml'], code: 2, says: /Allowed choices are text, json/ },
    { args: ['down', '--data-dir', ''], code: 2, says: /--data-dir: the name of a directory is missing/ },
    { args: ['kubelet', '--node-ip=here', '--root-dir', dir], code: 2, says: /--node-ip: here is no address/ },
    {
      args: ['kubelet', '--node-ip=10.0.0.1,10.0.0.2', '--root-dir', dir],
      code: 2,
      says: /--node-ip: must contain either a single IP or a dual-stack pair of IPs/,
    },
    {
      args: ['kubelet', '--max-pods=many', '--root-dir', dir],
      code: 2,
      says: /invalid argument "many" for "--max-pods"/,
    },
    {
      args: ['kubelet', '--max-pods=-5', '--root-dir', dir],
      code: 2,
      says: /failed to validate kubelet configuration/,
    },
    { args: ['kubelet', '--runonce', '--kubeconfig=/k', '--root-dir', dir], code: 2, says: /--runonce works without/ },
    { args: ['kubelet', '--config=/nowhere', '--root-dir', dir], code: 1, says: /failed to load kubelet config file/ },
  ];
  for (const { args, code, says } of cases) {
    it(args.join(' ').replaceAll(scratch, ''), async () => {
      assertRefused(await keelson(args), { code, says });
      assert.ok(!existsSync(dir));
    });
  }

  it('down without up does nothing and reports that', async () => {
    const { code, stdout, stderr } = await keelson(['down', '--data-dir', dir]);
    assert.deepEqual([code, stdout], [0, '']);
    assert.match(stderr, /^keelson: no cluster is in .*never-made: nothing to take down \(keelson ls [^\n]+\)\n$/);
  });

  it('help and version', async () => {
    assert.match((await keelson('--version')).stdout, /^\d+\.\d+\.\d+\n$/);
    for (const component of ['apiserver', 'controller-manager', 'scheduler', 'kubelet', 'proxy'])
      assert.equal((await keelson([component, '--version'])).stdout, 'Kubernetes v1.36.0\n');
    assert.match((await keelson('up --help')).stdout, /--cluster-cidr <range>/);
    assert.equal((await keelson('--help')).code, 0);
  });

  it('a command whose reader has closed the pipe ends quietly', async () => {
    const { stderr } = await run('sh', [
      '-c',
      '"$@" | true',
      'sh',
      process.execPath,
      keelsonProgram,
      'completion',
      'zsh',
    ]);
    assert.equal(stderr, '');
  });

  it('without root: names the commands that need root and those that do not', async () => {
    const args = ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath, keelsonProgram];
    const place = join(scratch, 'nobody');
    const env = { ...process.env, HOME: '/nonexistent' };
    for (const detach of [[], ['--detach']]) {
      assertRefused(await run('setpriv', [...args, 'up', '--data-dir', place, ...detach], { env }), {
        code: 1,
        says: /real pods need root .*--simulate gives a control plane/,
      });
    }
    assertRefused(await run('setpriv', [...args, 'down', '--data-dir', scratch], { env }), {
      code: 1,
      says: /down needs root/,
    });
    assert.ok(!existsSync(place));
  });
});

describe('faults of the machine or of the data directory are refused', { concurrency: 2 }, () => {
  let place: ClusterPlace;
  let server: Server;
  before(async () => {
    place = await freePlace();
    server = createServer().listen(place.httpsPort, '127.0.0.1');
    await once(server, 'listening');
  });
  after(async () => {
    server?.close();
    await keelson(['down', '--delete-data', '--data-dir', place.dataDir]);
    assert.deepEqual(await leftovers(place), []);
  });

  it('a port in use, with the program that listens on it', async () => {
    for (const detach of [[], ['--detach']]) {
      const outcome = await keelson([...upArgs(place), ...detach]);
      assert.equal(outcome.code, 1);
      assert.match(
        outcome.stderr,
        new RegExp(
          `^keelson: port ${place.httpsPort} is taken by \\S+ \\(pid ${process.pid}\\); choose another with --https-port( \\(log: .*\\))?\n$`,
        ),
      );
    }
  });

  it('a range that this machine already routes elsewhere', async () => {
    const other = await freePlace();
    const taken = (await run('ip', ['-o', '-4', 'addr', 'show', 'scope', 'global'])).stdout.match(
      /inet (\d+\.\d+)\.\d+\.\d+/,
    )?.[1];
    try {
      assertRefused(await keelson([...upArgs({ ...other, clusterCidr: `${taken}.0.0/16` })]), {
        code: 1,
        says: /--cluster-cidr \S+ overlaps \S+, which this machine routes to \S+; choose another with --cluster-cidr/,
      });
    } finally {
      rmSync(other.dataDir, { recursive: true });
    }
  });

  const broken: { about: string; make(dir: string): void; says: RegExp }[] = [
    {
      about: 'a file in its place',
      make: (dir) => writeFileSync(dir, 'x'),
      says: /cannot use the data directory .*: /,
    },
    {
      about: 'a broken instance.json',
      make: (dir) => (mkdirSync(dir), writeFileSync(join(dir, 'instance.json'), '{')),
      says: /the data directory is broken: .*instance\.json: /,
    },
    {
      about: 'an instance.json of another format',
      make: (dir) => (mkdirSync(dir), writeFileSync(join(dir, 'instance.json'), '{"format":9}')),
      says: /the data directory is broken: .*another format/,
    },
    {
      about: 'a state.db that is no database',
      make: (dir) => (
        mkdirSync(dir),
        writeFileSync(join(dir, 'state.db'), 'no database at all, and long enough to be read as one'.repeat(100))
      ),
      says: /state\.db/,
    },
  ];
  for (const [index, { about, make, says }] of broken.entries()) {
    it(`a data directory with ${about}`, async () => {
      const free = await freePlace();
      rmSync(free.dataDir, { recursive: true });
      const dataDir = join(scratch, `broken-${index}`);
      make(dataDir);
      const contents = (): string[] =>
        statSync(dataDir).isDirectory()
          ? readdirSync(dataDir)
              .filter((name) => /^(instance|state)/.test(name))
              .map((name) => readFileSync(join(dataDir, name), 'utf8'))
          : [readFileSync(dataDir, 'utf8')];
      const kept = about.includes('state') ? readFileSync(join(dataDir, 'state.db'), 'utf8') : contents().join();
      const { code, stderr } = await keelson(upArgs({ ...free, dataDir }));
      assert.equal(code, 1, stderr);
      assert.match(stderr.trimEnd().split('\n').at(-1)!, /^keelson: /);
      assert.match(stderr, says);
      assert.ok(contents().join().includes(kept), 'nothing is overwritten');
      if (about.includes('instance')) rmSync(join(dataDir, 'instance.json'), { force: true });
      await keelson(['down', '--data-dir', dataDir]);
      assert.deepEqual(
        (await leftovers({ ...free, dataDir, hash: hashOf(dataDir) })).filter((line) => !line.startsWith('file: ')),
        [],
      );
    });
  }
});

describe('two clusters side by side', () => {
  let one: TestCluster;
  let two: TestCluster;
  before(async () => {
    // Started at the same moment; each is recorded for the cleanup even when the other fails.
    const starts = [
      startCluster({ images: false }).then((cluster) => (one = cluster)),
      startCluster({ images: false, flags: ['--node-name', 'other-node', '--cluster-domain', 'corp.test'] }).then(
        (cluster) => (two = cluster),
      ),
    ];
    const failed = (await Promise.allSettled(starts)).find(({ status }) => status === 'rejected');
    if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
  });
  after(async () => {
    await Promise.all([one?.stop(), two?.stop()]);
  });

  it('have their own nodes and objects', async () => {
    await one.kubectl('create configmap mine');
    assert.match((await two.outcome('get configmap mine')).stderr, /not found/);
    assert.equal(await two.kubectl('get nodes -o name'), 'node/other-node\n');
    assert.notEqual(await one.kubectl('get nodes -o name'), 'node/other-node\n');
    assert.equal(statSync(one.kubeconfig).mode & 0o777, 0o600);
  });

  it('print their status as text and as JSON', async () => {
    const lines = [
      /^keelson\s+\d+\.\d+\.\d+, Kubernetes API v1\.36/m,
      /^components\s+apiserver ok, kubelet ok, proxy ok, dns ok$/m,
      /^node\s+other-node Ready, kubelet v1\.36/m,
      /^pods\s+none$/m,
      /^ranges .*domain corp\.test$/m,
      /^store\s+sqlite, revision \d+, \d+ keys, /m,
    ];
    await two.until('all of it', async () => {
      const text = (await keelson(['status', '--data-dir', two.dataDir])).stdout;
      for (const line of lines) assert.match(text, line);
      return true;
    });
    const status = JSON.parse(
      (await keelson(['status', '--data-dir', one.dataDir, '--output', 'json'])).stdout,
    ) as Record<string, unknown>;
    assert.deepEqual(
      [status['phase'], status['clusterCidr'], status['serviceCidr'], status['kubeconfig']],
      ['running', one.clusterCidr, one.serviceCidr, one.kubeconfig],
    );
  });

  it('refuse a second instance on their data directory, and keep running', async () => {
    const pid = await one.pid();
    for (const detach of [[], ['--detach']]) {
      const outcome = await keelson([...upArgs(one), ...detach]);
      assertRefused(outcome, {
        code: 1,
        says: new RegExp(
          `another keelson runs on ${one.dataDir} \\(pid ${pid}\\); stop it first or use another --data-dir`,
        ),
      });
    }
    assert.equal(await one.pid(), pid);
    assert.equal(await one.kubectl('get configmap mine -o name'), 'configmap/mine\n');
  });

  it('keep their settings: another range on the same data directory is refused; down keeps the data, also when it runs twice', async () => {
    assert.deepEqual(await keelson(['down', '--data-dir', two.dataDir]), { code: 0, stdout: '', stderr: '' });
    assert.deepEqual(
      (await leftovers(two)).filter((line) => line !== `file: ${two.dataDir}`),
      [],
    );
    assert.deepEqual(await keelson(['down', '--data-dir', two.dataDir]), { code: 0, stdout: '', stderr: '' });
    const changed = await keelson([
      ...upArgs({ ...two, serviceCidr: '10.249.0.0/16' }),
      '--node-name',
      'other-node',
      '--cluster-domain',
      'corp.test',
    ]);
    assertRefused(changed, {
      code: 1,
      says: /this cluster was made with --service-cidr \S+; it cannot become 10\.249\.0\.0\/16/,
    });
    await two.up();
    assert.equal(await two.kubectl('get nodes -o name'), 'node/other-node\n');
    assert.equal(await one.kubectl('get configmap mine -o name'), 'configmap/mine\n', 'the other one was not touched');
  });

  it('stop at SIGINT in the foreground with exit code 0, also during a start', async () => {
    await keelson(['down', '--data-dir', two.dataDir]);
    const args = [keelsonProgram, ...upArgs(two), '--node-name', 'other-node', '--cluster-domain', 'corp.test'];
    const ready = async (): Promise<boolean> => (await two.outcome('get nodes')).stdout.includes(' Ready ');
    for (const reached of [
      async () => true,
      () => tcpOutcome('127.0.0.1', two.httpsPort).then((outcome) => outcome === 'accepted'),
      ready,
    ]) {
      const foreground = start(process.execPath, args);
      try {
        await two.until('the lock', async () => (await keelson(['status', '--data-dir', two.dataDir])).code === 0);
        await two.until('the moment to stop', reached);
        foreground.kill('SIGINT');
        assert.equal((await foreground.ended()).code, 0);
      } finally {
        foreground.kill('SIGKILL');
      }
    }
    await two.up();
  });
});
