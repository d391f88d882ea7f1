/** systemd services: the unit, verified by systemd's own parser, and the files that are written, kept and removed. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { serverOptions } from '../server.ts';
import { serviceFlags } from './arguments.ts';
import {
  installService,
  requireSystemd,
  SYSTEM_UNITS,
  uninstallServices,
  type ServiceInstall,
} from './install-service.ts';
import { unitDataDir, unitName, unitText } from './unit.ts';
import { Command } from 'commander';

const folder = mkdtempSync(join(tmpdir(), 'keelson-service-'));
after(() => rmSync(folder, { recursive: true }));

const SYSTEMD_ANALYZE = '/usr/bin/systemd-analyze';
const HARD_WORDS = ['--a=b', '50%', '$HOME', 'two words', 'a"b', String.raw`a\b`, 'line\nline', "it's", ';', ''];

describe('the unit', () => {
  test('is accepted by systemd', { skip: existsSync(SYSTEMD_ANALYZE) ? false : 'needs systemd-analyze' }, () => {
    const file = join(folder, 'keelson.service');
    const command = ['/bin/sh', 'server', ...HARD_WORDS];
    for (const role of ['server', 'agent'] as const) {
      writeFileSync(file, unitText({ role, command, dataDir: '/srv/a b/ü%' }));
      assert.equal(verify(file), '');
    }
    writeFileSync(file, unitText({ role: 'server', command, dataDir: '/x' }).replace('KillMode=process', 'KillMode=x'));
    assert.match(verify(file), /kill mode/, 'what it refuses is seen');
  });

  test('ignores the warnings of systemd about other units', () => {
    const own = [
      '/tmp/x/keelson.service:7: Failed to parse kill mode',
      'keelson.service: Command /x is not executable',
    ];
    const others = ['/lib/systemd/system/a.service:3: Unknown key', 'a.service: Wants keelson.service: not found', ''];
    assert.equal(linesAbout('keelson.service', [...others, ...own].join('\n')), own.join('\n'));
  });

  test('escapes specifiers of systemd, and quotes separators of words', () => {
    const text = unitText({ role: 'server', command: ['/k', ...HARD_WORDS], dataDir: '/x' });
    assert.ok(
      text.includes(String.raw`ExecStart=/k --a=b 50%% $$HOME "two words" "a\"b" "a\\b" "line\nline" "it's" ";" ""`),
      text,
    );
  });

  test('names its owner', () => {
    for (const dataDir of ['/var/lib/keelson', '/srv/a b/ü%\n'])
      assert.equal(unitDataDir(unitText({ role: 'agent', command: ['/k'], dataDir })), dataDir);
    assert.equal(unitDataDir('[Service]\nExecStart=/x\n'), undefined);
    assert.equal(unitDataDir('[Unit]\nX-Keelson-Data-Directory=/srv/100%\n'), undefined);
  });

  test('is named after the cluster', () => {
    const names = (['server', 'agent'] as const).flatMap((role) =>
      ['keelson', 'dev'].map((name) => unitName(role, name)),
    );
    assert.deepEqual(names, [
      'keelson.service',
      'keelson-dev.service',
      'keelson-agent.service',
      'keelson-agent-dev.service',
    ]);
  });
});

/** The warnings of systemd about a unit, without those about other units; systemd exits with 0 where it ignores a line. */
function verify(file: string): string {
  const { stdout, stderr, error } = spawnSync(SYSTEMD_ANALYZE, ['verify', file], { encoding: 'utf8', timeout: 60_000 });
  assert.ifError(error);
  return linesAbout(basename(file), stdout + stderr);
}

/** Lines that begin with the unit's path or name. */
function linesAbout(name: string, output: string): string {
  const lines = output
    .split('\n')
    .filter((line) => (/^(\S+): /.exec(line)?.[1] ?? '').split('/').some((part) => part.split(':')[0] === name));
  return lines.join('\n');
}

describe('the flags of a service', () => {
  const parsed = (...args: readonly string[]): Command => {
    const command = serverOptions(new Command('server')).option('--dry-run', '');
    command.action(() => undefined).parse(args, { from: 'user' });
    return command;
  };

  test('are those of the command line, lists one by one, paths absolute', () => {
    const flags = serviceFlags(
      parsed('--https-port', '7443', '--node-label', 'a=1,b=2', '--cluster-init', '--config=c.yaml', '--dry-run'),
      ['--dry-run'],
    );
    assert.deepEqual(flags.toSorted(), [
      '--cluster-init',
      `--config=${process.cwd()}/c.yaml`,
      '--https-port=7443',
      '--node-label=a=1',
      '--node-label=b=2',
    ]);
    assert.deepEqual(serviceFlags(parsed('--write-kubeconfig=', '--audit-log-path', '-'), []).toSorted(), [
      '--audit-log-path=-',
      '--write-kubeconfig=none',
    ]);
  });

  test('give the same options when they are read again', () => {
    const command = parsed('--node-taint', 'a=b:NoSchedule', '--data-dir', '/d', '--tls-san=x,y', '--console', 'false');
    assert.deepEqual(parsed(...serviceFlags(command, [])).opts(), command.opts());
  });

  test('a relative path in the file of --config is refused', () => {
    const command = parsed();
    command.setOptionValueWithSource('schedulerConfig', 'scheduler.yaml', 'config');
    assert.throws(
      () => serviceFlags(command, []),
      /--config: scheduler-config: scheduler.yaml must be an absolute path/,
    );
  });
});

function machine() {
  const platform = createSimPlatform();
  const calls: string[] = [];
  platform.exec.program('systemctl', ({ args }) => {
    calls.push(args.join(' '));
    return {};
  });
  return { ...platform, calls };
}

const service = (more: Partial<ServiceInstall> = {}): ServiceInstall => ({
  dir: SYSTEM_UNITS,
  name: 'keelson.service',
  dataDir: '/d',
  text: unitText({ role: 'server', command: ['/k'], dataDir: '/d' }),
  start: true,
  ...more,
});

describe('installing', () => {
  test('writes and starts; again it changes nothing; a change restarts', async () => {
    const { files, exec, calls } = machine();
    const command = ['/k', `--token-file=${SYSTEM_UNITS}/keelson.service.token`];
    const first = unitText({ role: 'server', command, dataDir: '/d' });
    assert.equal(await installService({ files, exec }, service({ text: first, token: 't' })), 'written');
    assert.deepEqual(calls.splice(0), ['daemon-reload', 'enable keelson.service', 'restart keelson.service']);
    assert.equal((await files.stat(`${SYSTEM_UNITS}/keelson.service.token`)).mode & 0o777, 0o600);
    assert.equal(await installService({ files, exec }, service({ text: first })), 'unchanged');
    assert.deepEqual(calls.splice(0), ['daemon-reload', 'enable keelson.service', 'start keelson.service']);
    const text = unitText({ role: 'server', command: ['/k', '--x'], dataDir: '/d' });
    assert.equal(await installService({ files, exec }, service({ text })), 'written');
    assert.equal(calls.at(-1), 'restart keelson.service');
  });

  test('without a start systemd is left alone', async () => {
    const { files, exec, calls } = machine();
    await installService({ files, exec }, service({ start: false, dir: '/image/units' }));
    assert.deepEqual(await files.readDir('/image/units'), ['keelson.service']);
    assert.deepEqual(calls, []);
  });

  test('a unit of another cluster or of another program stays', async () => {
    const { files, exec, calls } = machine();
    await files.makeDir(SYSTEM_UNITS);
    for (const [text, why] of [
      ['[Service]\n', /was not written by keelson install/],
      [unitText({ role: 'server', command: ['/k'], dataDir: '/other' }), /is of the cluster in \/other/],
    ] as const) {
      await files.writeFile(`${SYSTEM_UNITS}/keelson.service`, text);
      await assert.rejects(installService({ files, exec }, service({ token: 't' })), why);
      assert.equal(await files.readText(`${SYSTEM_UNITS}/keelson.service`), text);
      assert.deepEqual(
        await uninstallServices({ files, exec }, { dir: SYSTEM_UNITS, dataDir: '/d', isRunning: true }),
        [],
      );
    }
    assert.deepEqual(await files.readDir(SYSTEM_UNITS), ['keelson.service']);
    assert.deepEqual(calls, []);
  });

  test('a second unit of the same data directory is refused, under any name', async () => {
    const { files, exec, calls } = machine();
    await installService({ files, exec }, service());
    calls.splice(0);
    await assert.rejects(
      installService({ files, exec }, service({ name: 'keelson-other.service', token: 't' })),
      /^UserError: \/etc\/systemd\/system\/keelson\.service is a service of \/d already: keelson uninstall/,
    );
    assert.deepEqual(await files.readDir(SYSTEM_UNITS), ['keelson.service']);
    assert.deepEqual(calls, []);
  });

  test('a token file is removed when the unit no longer names it', async () => {
    const { files, exec } = machine();
    const file = `${SYSTEM_UNITS}/keelson.service.token`;
    const withToken = unitText({ role: 'server', command: ['/k', `--token-file=${file}`], dataDir: '/d' });
    await installService({ files, exec }, service({ text: withToken, token: 't' }));
    await installService({ files, exec }, service({ text: withToken }));
    assert.equal(await files.readText(file), 't\n');
    await installService({ files, exec }, service());
    assert.equal(await files.exists(file), false);
  });

  test('the error of systemd is the error', async () => {
    const { files, exec } = machine();
    exec.program('systemctl', ({ args }) => (args[0] === 'restart' ? { exitCode: 1, stderr: 'Job failed\n' } : {}));
    await assert.rejects(
      installService({ files, exec }, service()),
      /^UserError: systemctl restart keelson.service: Job failed$/,
    );
  });

  test('a machine without systemd has its own error', async () => {
    const { files } = machine();
    await assert.rejects(requireSystemd({ files }), /systemd does not run this machine/);
    await files.makeDir('/run/systemd/system');
    await requireSystemd({ files });
  });
});

test('uninstalling stops and removes each service of the data directory, once', async () => {
  const { files, exec, calls } = machine();
  await installService({ files, exec }, service({ token: 't' }));
  const text = unitText({ role: 'agent', command: ['/k'], dataDir: '/d' });
  await files.writeFile(`${SYSTEM_UNITS}/keelson-agent-x.service`, text);
  calls.splice(0);
  const place = { dir: SYSTEM_UNITS, dataDir: '/d', isRunning: true };
  assert.deepEqual(await uninstallServices({ files, exec }, place), [
    { name: 'keelson-agent-x.service', dataDir: '/d' },
    { name: 'keelson.service', dataDir: '/d' },
  ]);
  assert.deepEqual(calls.splice(0), [
    'disable --now keelson-agent-x.service',
    'disable --now keelson.service',
    'daemon-reload',
  ]);
  assert.deepEqual(await files.readDir(SYSTEM_UNITS), []);
  assert.deepEqual(await uninstallServices({ files, exec }, place), []);
  assert.deepEqual(await uninstallServices({ files, exec }, { ...place, dir: '/nowhere' }), []);
  assert.deepEqual(calls, []);
});

test('uninstalling by a name finds its unit, whatever the data directory', async () => {
  const { files, exec } = machine();
  await installService({ files, exec }, service({ name: 'keelson-x.service', dataDir: '/d' }));
  const place = { dir: SYSTEM_UNITS, dataDir: '/var/lib/keelson-x', isRunning: true };
  assert.deepEqual(await uninstallServices({ files, exec }, place), []);
  assert.deepEqual(await uninstallServices({ files, exec }, { ...place, names: ['keelson-x.service'] }), [
    { name: 'keelson-x.service', dataDir: '/d' },
  ]);
  await files.writeFile(`${SYSTEM_UNITS}/keelson-x.service`, '[Service]\n');
  assert.deepEqual(await uninstallServices({ files, exec }, { ...place, names: ['keelson-x.service'] }), []);
});
