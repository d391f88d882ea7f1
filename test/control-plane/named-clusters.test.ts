/** Several clusters of one user: names, contexts of one kubeconfig, ports, and settings recorded in a data directory. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { until } from '../integration/fixtures/until.ts';
import { kubectlProgram } from '../../tools/kubectl.ts';
import { keelsonProgram, run, start, type Outcome } from '../integration/fixtures/programs.ts';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';

const home = mkdtempSync(join(tmpdir(), 'keelson-names-'));
const { KEELSON_WRITE_KUBECONFIG: _none, KUBECONFIG: _other, ...inherited } = process.env;
const env = { ...inherited, HOME: home };
const keelson = (...args: string[]): Promise<Outcome> =>
  run(process.execPath, [keelsonProgram, ...args], { env, timeoutMs: 180_000 });
const kubectl = (...args: string[]): Promise<Outcome> => run(kubectlProgram(), args, { env });
const dirs = { a: join(home, 'a'), b: join(home, 'b') };
const up = (dir: string, ...args: string[]): Promise<Outcome> =>
  keelson('up', '--simulate', '--detach', '--data-dir', dir, '--log-level=error', ...args);
const must = async (outcome: Promise<Outcome>): Promise<Outcome> => {
  const result = await outcome;
  assert.equal(result.code, 0, result.stderr);
  return result;
};

interface Listed {
  readonly name: string;
  readonly state: string;
  readonly port: string;
  readonly dataDir: string;
}

async function listed(): Promise<readonly Listed[]> {
  const all = JSON.parse((await must(keelson('ls', '-o', 'json'))).stdout) as Listed[];
  return all.filter(({ dataDir }) => Object.values(dirs).includes(dataDir)); // other clusters run beside this test
}

after(async () => {
  for (const dir of Object.values(dirs)) await keelson('down', '--delete-data', '--data-dir', dir);
  rmSync(home, { recursive: true, force: true });
});

test('two clusters have separate contexts and ports, and the last line of output states the next command', async () => {
  const first = await must(up(dirs.a, '--name', 'one'));
  assert.match(first.stderr, /kubectl's context: one, in .*\.kube\/config\n {2}next: \S*kubectl/);
  await must(up(dirs.b, '--name', 'two'));
  const [one, two] = await listed();
  assert.deepEqual([one?.name, one?.state, two?.name], ['one', 'running (simulated)', 'two']);
  assert.notEqual(one?.port, two?.port);
  assert.equal(statSync(join(home, '.kube/config')).mode & 0o777, 0o600);
  for (const context of ['one', 'two']) {
    const { stdout } = await must(kubectl('--context', context, 'get', 'nodes', '-o', 'name'));
    assert.match(stdout, /^node\//);
  }
  assert.equal((await must(kubectl('config', 'current-context'))).stdout, 'two\n');
});

test('commands find a cluster by its name', async () => {
  assert.match((await must(keelson('status', '--name', 'one'))).stdout, new RegExp(`kubeconfig +${dirs.a}/`));
  assert.match((await must(keelson('kubeconfig', '--name', 'one'))).stdout, /current-context: one/);
  const other = join(home, 'other.yaml');
  await must(keelson('kubeconfig', '--name', 'one', '--merge', other));
  await must(kubectl('--kubeconfig', other, 'get', 'namespaces'));
});

test('kubectl runs on a cluster by its name, with its own flags and exit code', async () => {
  const path = `${dirname(kubectlProgram())}:${process.env['PATH']}`;
  const kubectlOf = (...args: string[]): Promise<Outcome> =>
    run(process.execPath, [keelsonProgram, 'kubectl', ...args], { env: { ...env, PATH: path } });
  const { stdout } = await must(kubectlOf('--name', 'one', '-n', 'kube-system', 'get', 'configmaps', '-o', 'name'));
  assert.match(stdout, /^configmap\//);
  assert.match((await must(kubectlOf('--name=two', 'config', 'current-context'))).stdout, /^two$/m);
  const failed = await kubectlOf('--data-dir', dirs.a, 'get', 'pod', 'nothing');
  assert.deepEqual([failed.code, /NotFound/.test(failed.stderr)], [1, true], failed.stderr);
  assert.match((await kubectlOf('--name', 'nowhere', 'get', 'pods')).stderr, /^keelson: no cluster: .*keelson ls/);
});

test('down removes the context; a start keeps port and name, and reports changes', async () => {
  const before = (await listed())[0]?.port;
  await must(keelson('down', '--name', 'one'));
  assert.doesNotMatch(readFileSync(join(home, '.kube/config'), 'utf8'), /name: one$/m);
  // down returns when the cluster has stopped; its process ends a moment later.
  await until('its end', async () => (await listed())[0]?.state === 'stopped');
  const again = await must(up(dirs.a));
  assert.doesNotMatch(again.stderr, /from now on/);
  assert.deepEqual([(await listed())[0]?.name, (await listed())[0]?.port], ['one', before]);
  await must(keelson('down', '--name', 'one'));
  const port = String(await freePort());
  const changed = await must(up(dirs.a, '--https-port', port));
  assert.match(changed.stderr, new RegExp(`--https-port is ${port}; it was ${before} when this cluster last started`));
  assert.equal((await listed())[0]?.port, port);
});

test("another tool's context of the same name stays, and the user is informed", async () => {
  const file = join(home, 'foreign');
  const text = 'contexts: [{name: two, context: {cluster: x, user: y}}]\n';
  writeFileSync(file, text);
  const refused = await keelson('kubeconfig', '--name', 'two', '--merge', file);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^keelson: .*foreign is left alone: it has a context two that Keelson did not write/);
  assert.equal(readFileSync(file, 'utf8'), text);
});

test('down of a missing cluster reports it', async () => {
  const { code, stderr } = await keelson('down', '--data-dir', join(home, 'nowhere'));
  assert.deepEqual([code, /no cluster is in .*nowhere/.test(stderr)], [0, true], stderr);
  assert.ok(!existsSync(join(home, 'nowhere')));
});

test('a foreground run prints its progress to a pipe', async () => {
  await must(keelson('down', '--name', 'two'));
  const running = start(
    process.execPath,
    [keelsonProgram, 'up', '--simulate', '--data-dir', dirs.b, '--log-level=error'],
    { env },
  );
  await running.until(/✓ ready[^]*next: /, 60_000);
  assert.match(running.stderr(), /✓ API server and controllers +\d/);
  running.kill('SIGTERM');
  assert.equal((await running.ended()).code, 0);
});
