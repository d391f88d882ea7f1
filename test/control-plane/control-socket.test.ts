/** The permissions of a running instance's control socket, and the lock that prevents a second instance. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { rootControlDir, rootRunDir } from '../../src/cluster/instance/control-place.ts';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { hashOf } from '../integration/cluster-fixture.ts';
import {
  endProcess,
  keelsonProgram,
  run,
  start,
  type Outcome,
  type Running,
} from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';

const isRoot = process.getuid?.() === 0;
const NOBODY = 65534;
const asNobody = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', process.execPath];

const keelson = (...args: string[]): Promise<Outcome> => run(process.execPath, [keelsonProgram, ...args]);
const nobody = (...args: string[]): Promise<Outcome> => run(asNobody[0]!, [...asNobody.slice(1), ...args]);

/** Starts a control plane without nodes. */
async function startIn(dataDir: string, program: readonly string[] = [process.execPath]): Promise<Running> {
  const port = await freePort();
  const args = [keelsonProgram, 'up', '--simulate', '--nodes=0', `--data-dir=${dataDir}`, `--https-port=${port}`];
  const running = start(program[0]!, [...program.slice(1), ...args, '--log-level=error'], {
    env: { ...process.env, KEELSON_RESTART: 'never', HOME: '/nonexistent' },
  });
  await until('it serves', async () => {
    const { code } = await run(program[0]!, [...program.slice(1), keelsonProgram, 'status', '--data-dir', dataDir]);
    return code === 0 && existsSync(join(dataDir, 'admin.kubeconfig'));
  });
  return running;
}

describe('the control socket', { skip: isRoot ? false : 'needs root to be other users' }, () => {
  let folder: string;
  let dataDir: string;
  let running: Running;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'keelson-control-'));
    chmodSync(folder, 0o755);
    dataDir = join(folder, 'data');
    mkdirSync(dataDir);
    chmodSync(dataDir, 0o755); // as an existing directory that others can enter
    running = await startIn(dataDir);
  });
  after(async () => {
    running?.kill('SIGTERM');
    await running?.ended();
    // Killed instances leave their run directories.
    for (const name of ['data', 'older', 'nobody', 'foreign'])
      rmSync(rootRunDir(join(folder, name)), { recursive: true, force: true });
    rmSync(folder, { recursive: true });
  });

  test('it is no abstract name, and others can access neither its folder, nor its file, nor the lock', () => {
    assert.doesNotMatch(readFileSync('/proc/net/unix', 'utf8'), new RegExp(`@keelson-${hashOf(dataDir)}`));
    const modes = [rootControlDir(dataDir), join(rootControlDir(dataDir), 'control.sock'), `${dataDir}/keelson.lock`];
    assert.deepEqual(
      modes.map((path) => (statSync(path).mode & 0o777).toString(8)),
      ['700', '600', '600'],
    );
  });

  for (const command of ['status', 'down', 'snapshot save /tmp/never'])
    test(`another user is refused: keelson ${command}`, async () => {
      const { code, stderr } = await nobody(keelsonProgram, ...command.split(' '), '--data-dir', dataDir);
      assert.deepEqual(
        [code, stderr],
        [1, `keelson: the cluster on ${dataDir} belongs to root, who alone can ask it\n`],
      );
      assert.equal((await keelson('status', '--data-dir', dataDir)).code, 0, 'it runs on');
    });

  test('another user can neither connect nor hold the lock', async () => {
    const connect = `require('net').connect(${JSON.stringify(join(rootControlDir(dataDir), 'control.sock'))})
      .on('connect', () => console.log('connected')).on('error', (error) => console.log(error.code))`;
    assert.equal((await nobody('-e', connect)).stdout, 'EACCES\n');
    const lock = `new (require('node:sqlite').DatabaseSync)(${JSON.stringify(`${dataDir}/keelson.lock`)})`;
    assert.match((await nobody('-e', lock)).stderr, /unable to open database file/);
  });

  test('all users may enter the run directory, also when root has a strict umask', async () => {
    const data = join(folder, 'strict');
    const up = ['up', '--simulate', '--nodes=0', `--data-dir=${data}`, `--https-port=${await freePort()}`];
    // A new /run, as after a start of the machine.
    const script = 'mount -t tmpfs none /run && umask 077 && exec "$@"';
    const strict = start('unshare', ['-m', 'sh', '-c', script, 'sh', process.execPath, keelsonProgram, ...up], {
      env: { ...process.env, KEELSON_RESTART: 'never', HOME: '/nonexistent' },
    });
    await strict.until(/ready/);
    const modeOf = (path: string): string => (statSync(`/proc/${strict.pid}/root${path}`).mode & 0o777).toString(8);
    assert.deepEqual(['/run/keelson', rootRunDir(data), rootControlDir(data)].map(modeOf), ['755', '711', '700']);
    assert.match(readFileSync(`/proc/${strict.pid}/status`, 'utf8'), /^Umask:\t0022$/m);
    strict.kill('SIGTERM');
    await strict.ended();
  });

  test('a second instance on the directory is refused, by any path', async () => {
    for (const path of [dataDir, `${folder}/./data`, `/proc/self/root${dataDir}`]) {
      const port = await freePort();
      const { code, stderr } = await keelson('up', '--simulate', `--data-dir=${path}`, `--https-port=${port}`);
      assert.equal(code, 1);
      assert.match(stderr, /^keelson: another keelson runs on \S+( \(pid [1-9]\d*\))?; stop it first/m);
    }
  });

  test("root neither starts in nor takes down another user's data directory", async () => {
    const foreign = join(folder, 'foreign');
    const outside = join(folder, 'outside');
    for (const path of [foreign, outside, join(outside, 'pods')]) mkdirSync(path);
    symlinkSync(outside, join(foreign, 'kubelet'));
    chownSync(foreign, 65_534, 65_534);
    const commands = [['up'], ['up', '--detach'], ['up', '--simulate'], ['down', '--delete-data']];
    for (const command of commands) {
      const { code, stderr } = await keelson(...command, '--data-dir', foreign);
      assert.equal(code, 1, command.join(' '));
      assert.match(stderr, /belongs to the user with id 65534, who could lead writes out of it/);
    }
    assert.deepEqual([readdirSync(foreign), readdirSync(outside)], [['kubelet'], ['pods']]);
  });

  test('the lock is free as soon as its process is killed', async () => {
    await endProcess(running.pid);
    assert.match((await keelson('status', '--data-dir', dataDir)).stderr, /no cluster runs on/);
    running = await startIn(dataDir);
  });

  test('a snapshot is read from its own path, whatever the instance responds', async () => {
    const file = join(folder, 'saved');
    const { code, stdout } = await keelson('snapshot', 'save', file, '--data-dir', dataDir);
    assert.equal(code, 0);
    assert.match(stdout, /^saved \d+ objects/);
    assert.ok(existsSync(file) && !existsSync(join(dataDir, 'state.db.snapshot')));
  });

  test('a name in the former place prevents no start, unless its holder is an older instance of this user', async () => {
    const other = join(folder, 'older');
    const name = `\\0keelson-${hashOf(other)}`;
    const squat = `require('net').createServer(() => {}).listen({ path: '${name}' }, () => console.log('listens'))`;
    const listen = async (program: readonly string[]) => {
      const child = spawn(program[0]!, [...program.slice(1), '-e', squat], { stdio: ['ignore', 'pipe', 'inherit'] });
      await once(child.stdout, 'data');
      return child;
    };
    const squatter = await listen(asNobody);
    const started = await startIn(other);
    started.kill('SIGTERM');
    assert.equal((await started.ended()).code, 0);
    squatter.kill('SIGKILL');
    await once(squatter, 'exit');
    const older = await listen([process.execPath]);
    const { code, stderr } = await keelson(
      'up',
      '--simulate',
      `--data-dir=${other}`,
      `--https-port=${await freePort()}`,
    );
    older.kill('SIGKILL');
    assert.deepEqual([code, stderr.includes(`(pid ${older.pid})`)], [1, true], stderr);
  });

  test('another user’s instance is separate, also below a path longer than a socket’s address', async () => {
    const own = join(folder, 'nobody');
    mkdirSync(own);
    await promisify(execFile)('chown', [String(NOBODY), own]);
    const long = join(own, 'a'.repeat(120), 'data');
    const theirs = await startIn(long, asNobody);
    const { stderr } = await keelson('status', '--data-dir', long);
    assert.equal(
      stderr,
      `keelson: the cluster on ${long} belongs to the user with id ${NOBODY}, who alone can ask it\n`,
    );
    assert.equal((await nobody(keelsonProgram, 'down', '--data-dir', long)).code, 0);
    assert.equal((await theirs.ended()).code, 0);
    assert.ok(!existsSync(join(long, 'control')));
  });
});
