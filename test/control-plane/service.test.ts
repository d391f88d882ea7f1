/** `keelson install` and `uninstall` on a folder of units; the command of the unit is run as systemd would run it. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { absentForNotify, openNotifySocket } from '../../src/platform/node/notify-socket-fixture.ts';
import { keelsonProgram, run, start, type Outcome } from '../integration/fixtures/programs.ts';

const scratch = mkdtempSync(join(tmpdir(), 'keelson-service-'));
const [units, dataDir] = [join(scratch, 'units'), join(scratch, 'data')];
const keelson = (...args: string[]): Promise<Outcome> => run(process.execPath, [keelsonProgram, ...args]);
const skip = absentForNotify === undefined ? false : `needs ${absentForNotify}`;

after(async () => {
  await keelson('down', '--delete-data', '--data-dir', dataDir);
  rmSync(scratch, { recursive: true, force: true });
});

test(
  'a server is installed, runs by the command of its unit, reports readiness, and is uninstalled',
  { skip },
  async () => {
    const port = await freePort();
    const place = ['--data-dir', dataDir, '--unit-dir', units];
    const install = ['install', 'server', ...place, '--disable-agent', '--https-port', String(port), '--name', 'svc'];
    const first = await keelson(...install);
    assert.deepEqual([first.code, first.stderr], [0, '']);
    assert.match(first.stdout, /keelson-svc\.service was written\nnext: systemctl daemon-reload && systemctl enable/);
    assert.match((await keelson(...install)).stdout, /keelson-svc\.service is as it should be\n/);
    const unit = readFileSync(join(units, 'keelson-svc.service'), 'utf8');
    assert.equal((await keelson(...install, '--dry-run')).stdout, unit);

    const [program = '', ...args] = /^ExecStart=(.*)$/m.exec(unit)?.[1]?.split(' ') ?? [];
    const socket = await openNotifySocket();
    const { NOTIFY_SOCKET: _none, ...env } = process.env;
    const server = start(program, args, { cwd: '/', env: { ...env, NOTIFY_SOCKET: socket.path } });
    try {
      assert.equal(await socket.next(), `${server.pid} MAINPID=${server.pid} READY=1`);
      assert.match((await keelson('status', '--data-dir', dataDir)).stdout, new RegExp(`:${port}$`, 'm'));
    } finally {
      process.kill(server.pid, 'SIGTERM');
      assert.equal((await server.ended()).code, 0);
      await socket.close();
    }

    assert.match((await keelson('uninstall', ...place)).stdout, /keelson-svc\.service was removed\nnext: keelson down/);
    assert.deepEqual(readdirSync(units), []);
    const again = await keelson('uninstall', ...place);
    assert.deepEqual([again.code, again.stdout], [1, '']);
    assert.match(again.stderr, /no service of the cluster in/);
  },
);

test('a token is stored in a separate file', async () => {
  const [token, hash] = ['abcdef.0123456789abcdef', `sha256:${'a'.repeat(64)}`];
  const join_ = ['--server', 'https://192.0.2.1:6443', '--token', token, '--discovery-token-ca-cert-hash', hash];
  const place = ['--data-dir', join(scratch, 'keelson'), '--unit-dir', units];
  assert.equal((await keelson('install', 'agent', ...place, ...join_)).code, 0);
  const unit = readFileSync(join(units, 'keelson-agent.service'), 'utf8');
  assert.ok(!unit.includes(token));
  // The folder of the machine on which the unit will run.
  assert.ok(unit.includes(' --token-file=/etc/systemd/system/keelson-agent.service.token\n'));
  assert.equal(readFileSync(join(units, 'keelson-agent.service.token'), 'utf8'), `${token}\n`);
  assert.equal((await keelson('uninstall', ...place)).code, 0);
  assert.deepEqual(readdirSync(units), []);
});

test('a service is found by its name, whatever its data directory', async () => {
  const install = ['install', 'server', '--data-dir', join(scratch, 'elsewhere'), '--unit-dir', units, '--name', 'els'];
  assert.equal((await keelson(...install)).code, 0);
  const second = await keelson(...install, '--name', 'els2');
  assert.deepEqual([second.code, /keelson-els\.service is a service of/.test(second.stderr)], [1, true], second.stderr);
  const { code, stdout } = await keelson('uninstall', '--name', 'els', '--unit-dir', units);
  assert.deepEqual([code, stdout], [0, `${units}/keelson-els.service was removed\n`]);
});

test('wrong flags are refused when the service is installed', async () => {
  const install = ['install', 'server', '--data-dir', join(scratch, 'wrong'), '--unit-dir', units];
  const port = await keelson(...install, '--https-port', '0');
  assert.deepEqual([port.code, port.stderr], [2, 'keelson: --https-port: 0 is not a port between 1 and 65535\n']);
  for (const name of ['agent', 'agent-dev']) {
    const { code, stderr } = await keelson(...install, '--name', name);
    assert.deepEqual([code, /is the unit of an agent: give the server another --name/.test(stderr)], [2, true], stderr);
  }
  assert.deepEqual(readdirSync(units), []);
});
