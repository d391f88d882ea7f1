/**
 * The process that opens ports and the serving process end together. The tests use real processes, because they are about
 * signals.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keelson-two-processes-'));
});
after(() => rm(folder, { recursive: true }));

/** Runs a program as both processes; the serving one prints its pid once it waits. The default `graceMs` is longer than any test. */
async function start(serving: string, graceMs = 60_000) {
  const module = new URL('two-processes.ts', import.meta.url).href;
  const program = join(folder, 'program.mjs');
  const source = `
import { becomeUser, closeUnboundHandles, isServingProcess, superviseServing } from ${JSON.stringify(module)};
if (isServingProcess()) { ${serving} } else process.exitCode = await superviseServing(process.env, ${JSON.stringify(join(folder, 'control'))}, ${graceMs});
`;
  await writeFile(program, source);
  const parent = spawn(process.execPath, [...process.execArgv, program], { stdio: ['ignore', 'inherit', 'pipe'] });
  const ended = new Promise<number | null>((resolve) => parent.once('close', resolve));
  let text = '';
  parent.stderr.setEncoding('utf8');
  const pid = await new Promise<number>((resolve) =>
    parent.stderr.on('data', (chunk: string) => {
      text += chunk;
      const found = /pid (\d+)/.exec(text)?.[1];
      if (found !== undefined) resolve(Number(found));
    }),
  );
  return { parent, pid, ended, text: () => text };
}

const isThere = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test('a serving process that does not exit is killed', async () => {
  const stuck =
    "process.on('SIGTERM', () => {}); process.stderr.write('pid ' + process.pid); setInterval(() => {}, 1000);";
  const { parent, pid, ended } = await start(stuck, 50);
  parent.kill('SIGTERM');
  assert.equal(await ended, 1);
  assert.equal(isThere(pid), false);
});

test('the exit code of a serving process is passed on', async () => {
  const { parent, ended } = await start(
    "process.on('SIGTERM', () => process.exit(7)); process.stderr.write('pid ' + process.pid); setInterval(() => {}, 1000);",
  );
  parent.kill('SIGTERM');
  assert.equal(await ended, 7);
});

test('a serving process that requests another unix socket is killed, and nothing is opened', async () => {
  const path = join(folder, 'plugin.sock');
  const { ended, text } = await start(`
const { createServer } = await import('node:net');
process.stderr.write('pid ' + process.pid);
createServer().listen({ path: ${JSON.stringify(join(folder, 'control'))} }, () =>
  createServer().listen({ path: ${JSON.stringify(path)} }, () => process.exit(9)));
`);
  assert.equal(await ended, 1);
  assert.match(text(), /asked for what it does not need/);
  assert.equal(existsSync(path), false);
});

test('the same request in another form that Node.js accepts is refused, too', async () => {
  const path = join(folder, 'plugin.sock');
  const { ended, text } = await start(`
process.stderr.write('pid ' + process.pid);
const message = { cmd: 'NODE_CLUSTER', act: ['queryServer'], seq: 1, index: 0, address: ${JSON.stringify(path)}, port: -1, addressType: -1, fd: null };
const { existsSync } = await import('node:fs');
process.send(message, () => setTimeout(() => process.exit(existsSync(message.address) ? 8 : 9), 500));
`);
  assert.equal(await ended, 1);
  assert.match(text(), /asked for what it does not need/);
  assert.equal(existsSync(path), false);
});

test('root without the right to change the user fails with what is missing, and both processes end', async () => {
  const { ended, text } = await start(`
process.getuid = () => 0;
process.setgroups = () => { throw new Error('EPERM'); };
try { becomeUser(61200); } catch (error) {
  process.stderr.write('pid ' + process.pid + ' ' + error.message);
  process.exitCode = 3;
}`);
  assert.equal(await ended, 3);
  assert.match(
    text(),
    /no route is served, as root cannot become user 61200, which needs CAP_SETGID, CAP_SETUID, .*: EPERM$/,
  );
});

test('a port that another program has on one address is tried again, and opened once it is free', async () => {
  for (const host of ['127.0.0.1', '0.0.0.0']) {
    const other = createServer().listen(0, host);
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { parent, ended, text } = await start(`
closeUnboundHandles();
const { createServer } = await import('node:net');
const server = createServer();
const listen = () => server.listen({ port: ${port} });
let failures = 0;
server.on('error', ({ code }) => {
  process.stderr.write(code + ' ');
  if (++failures === 3) process.stderr.write('pid ' + process.pid);
  setTimeout(listen, 10);
});
server.on('listening', () => process.exit(9));
listen();`);
    assert.match(text(), /^(EADDRINUSE ){3}/);
    other.close();
    assert.equal(await ended, 9, text());
    parent.kill();
  }
});
