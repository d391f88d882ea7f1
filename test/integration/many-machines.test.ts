/** Several machines as one cluster: joining, what works across, absences of the server, leaving and coming back. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { images, keelsonProgram } from './cluster-fixture.ts';
import { createMachines, type Machine, type Machines } from './fixtures/machines.ts';

async function until<T>(
  what: string,
  probe: () => Promise<T | undefined | false | ''>,
  timeoutMs = 30_000,
): Promise<T> {
  const deadlineMs = performance.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    const value = await probe().catch((error: unknown) => void (last = error));
    if (value !== undefined && value !== false && value !== '') return value as T;
    if (performance.now() > deadlineMs) throw new Error(`${what}: not after ${timeoutMs / 1000} s (${String(last)})`);
    await sleep(100);
  }
}

describe('a server and an agent', () => {
  let machines: Machines;
  let server: Machine;
  let agent: Machine;
  let joinToken: string;
  before(async () => {
    machines = await createMachines([0, 0]);
    [server, agent] = machines.list as [Machine, Machine];
    await server.keelson('server --node-name server --detach');
  });
  after(() => machines?.remove());

  it('refuses whoever bears no token, another cluster’s authority, or a token whose time is over', async () => {
    const [, pin = ''] =
      /K10([0-9a-f]+)::/.exec(await server.keelson('token create --ttl 1s abcdef.0123456789abcdef')) ?? [];
    const join = (token: string) =>
      agent.run(process.execPath, [
        keelsonProgram,
        ...['agent', '--data-dir', agent.dataDir, '--server', `https://${server.address}:6443`, '--token', token],
      ]);
    assert.match((await join('nonsense')).stderr, /neither of the form K10/);
    assert.match((await join('abcdef.0123456789abcdef')).stderr, /--discovery-token-ca-cert-hash/);
    const foreign = await join(`K10${'0'.repeat(64)}::abcdef.0123456789abcdef`);
    assert.match(foreign.stderr, /authority is not the one the token was made for/);
    await sleep(1500);
    assert.match((await join(`K10${pin}::abcdef.0123456789abcdef`)).stderr, /unknown there or its time is over/);
    await until('the token cleaner', async () => !(await server.keelson('token list')).includes('abcdef.0'));
  });

  it('joins with one command', async () => {
    const command = await server.keelson('token create --print-join-command');
    joinToken = /--token (\S+)/.exec(command)?.[1] ?? '';
    assert.match(command, new RegExp(`--server https://${server.address}:6443 `));
    await agent.keelson(['agent', ...command.trim().split(' ').slice(2), '--node-name', 'agent', '--detach']);
    const nodes = await server.kubectl('get nodes -o wide --no-headers');
    assert.match(nodes, /^agent +Ready .* v1\.36\.\S+ +172\.30\.0\.2 /m);
    assert.match(nodes, /^server +Ready /m);
    assert.match(await agent.keelson('status'), /agent of +https:/);
  });

  it('runs pods there, with logs and exec through the server', async () => {
    await Promise.all([server.importImages(), agent.importImages()]);
    for (const node of ['server', 'agent']) {
      const spec = { nodeName: node, terminationGracePeriodSeconds: 1 };
      const overrides = JSON.stringify({ spec });
      await server.kubectl([
        'run',
        `on-${node}`,
        `--image=${images.test}`,
        `--overrides=${overrides}`,
        '--labels=app=web',
      ]);
    }
    await server.kubectl('wait --for=condition=Ready pod --all --timeout=60s');
    assert.equal((await server.kubectl('exec on-agent -- hostname')).trim(), 'on-agent');
    await server.kubectl('logs on-agent');
  });

  it('keeps what it learnt: the agent starts again without a token', async () => {
    assert.notEqual(joinToken, '');
    const pid = await agent.pid();
    process.kill(pid, 'SIGKILL');
    await until(
      'its end',
      async () =>
        (await agent.run(process.execPath, [keelsonProgram, 'status', '--data-dir', agent.dataDir])).code !== 0,
    );
    await agent.keelson('agent --node-name agent --detach');
    assert.equal((await server.kubectl('exec on-agent -- hostname')).trim(), 'on-agent');
  });
});
