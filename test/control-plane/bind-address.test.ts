/** `--bind-address`: the API server listens on that address and on no other, and programs of this machine find it there. */
import assert from 'node:assert/strict';
import { readFile, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { kubectlProgram } from '../../tools/kubectl.ts';
import { keelsonProgram, run, start } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';

/** Whether a server listens there. */
function isOpen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('close', () => resolve(false)).unref();
    socket.once('connect', () => socket.destroy());
  });
}

const commands = {
  'server --disable-agent': ['server', '--disable-agent', '--store', 'memory'],
  'up --simulate': ['up', '--simulate', '--nodes', '1'],
};

for (const [what, command] of Object.entries(commands)) {
  test(`keelson ${what} --bind-address`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'keelson-bind-'));
    const port = await freePort();
    const bind = `127.66.${process.pid & 255}.9`;
    const own = ['--data-dir', join(folder, 'data'), '--https-port', String(port), '--bind-address', bind];
    const server = start(process.execPath, [keelsonProgram, ...command, ...own]);
    t.after(async () => {
      server.kill();
      await server.ended();
      await rm(folder, { recursive: true });
    });
    const kubeconfig = join(folder, 'data/admin.kubeconfig');
    const kubectl = (...args: string[]) => run(kubectlProgram(), ['--kubeconfig', kubeconfig, ...args]);
    await until('the server is ready', async () => {
      const { code, stderr } = await kubectl('get', '--raw', '/readyz');
      assert.equal(code, 0, `${stderr}\n${server.stderr()}`);
      return true;
    });
    assert.match(await readFile(kubeconfig, 'utf8'), new RegExp(`server: "?https://${bind}:${port}`));
    assert.deepEqual([await isOpen(bind, port), await isOpen('127.0.0.1', port)], [true, false]);
    const status = await run(process.execPath, [keelsonProgram, 'status', '--data-dir', join(folder, 'data')]);
    assert.match(status.stdout, new RegExp(`https://${bind}:${port}`));
  });

  test(`keelson ${what} refuses an invalid address, or another machine's, in one line`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'keelson-bind-'));
    t.after(() => rm(folder, { recursive: true }));
    for (const [address, problem, code] of [
      ['localhost', '--bind-address: localhost is no address', 2],
      ['', '--bind-address:  is no address', 2],
      ['192.0.2.77', '--bind-address: 192.0.2.77 is not an address of this machine', 1],
    ] as const) {
      const own = ['--data-dir', join(folder, 'data'), '--https-port', String(await freePort())];
      const ended = await run(process.execPath, [keelsonProgram, ...command, ...own, `--bind-address=${address}`]);
      assert.equal(ended.code, code, ended.stderr);
      const lines = ended.stderr
        .trim()
        .split('\n')
        .filter((line) => line.includes('bind-address'));
      assert.equal(lines.length, 1, ended.stderr);
      assert.ok(lines[0]!.endsWith(problem), ended.stderr);
      assert.doesNotMatch(ended.stderr, /^\s+at /m);
    }
  });
}
