/** `keelson up --simulate --nodes N` with a plain kubectl session, as in a demo, a load test or a first try. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { kubectlProgram } from '../../tools/kubectl.ts';
import { keelsonProgram } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';
import { keelson, run, type Said } from './own-servers.ts';

const IMAGES = `
web:1:
  logs: [listening]
  exec: { exitCode: 3, stdout: "what the image says\\n" }
  http: { status: 200, body: hello from a simulated pod }
  usage: { cpu: 250m, memory: 64Mi }
`;

describe('keelson up --simulate', () => {
  let folder: string;
  let server: ChildProcess;
  const running = new Set<ChildProcess>();
  const configured = (args: readonly string[]): string[] => [
    `--kubeconfig=${folder}/data/admin.kubeconfig`,
    `--cache-dir=${folder}/cache`,
    ...args,
  ];
  const kubectl = (...args: string[]): Promise<Said> => run(kubectlProgram(), configured(args));
  const up = async (...args: string[]): Promise<string[]> => [
    'up',
    '--simulate',
    `--data-dir=${folder}/data`,
    `--https-port=${await freePort()}`,
    '--log-level=error',
    ...args,
  ];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keelson-simulated-'));
    await writeFile(join(folder, 'images.yaml'), IMAGES);
    const args = await up('--nodes=3', `--images=${folder}/images.yaml`);
    server = spawn(process.execPath, [keelsonProgram, ...args], { stdio: ['ignore', 'inherit', 'inherit'] });
    await until('three nodes are Ready', async () => {
      assert.equal(server.exitCode, null);
      const { stdout } = await kubectl('get', 'nodes', '--no-headers');
      return stdout.match(/ Ready /g)?.length === 3;
    });
  });
  after(async () => {
    for (const child of running) child.kill('SIGKILL');
    const ended = new Promise((resolve) => server.once('exit', resolve));
    if (server.exitCode === null && server.kill('SIGTERM')) await ended;
    await rm(folder, { recursive: true });
  });

  test('an invalid file of images is refused with its line', async () => {
    const file = join(folder, 'wrong.yaml');
    await writeFile(file, 'web:1:\n  strat: 2s\n');
    const { code, stderr } = await keelson([...(await up(`--images=${file}`)), `--data-dir=${folder}/other`]);
    assert.notEqual(code, 0);
    assert.match(
      stderr,
      /wrong\.yaml: line 2: web:1\.strat: unknown field; did you mean start\? There are start, exits,/,
    );
    const real = await keelson(['up', `--images=${file}`]);
    assert.deepEqual([real.code, /--images .*--simulate/.test(real.stderr)], [2, true], real.stderr);
  });

  test('create, rollout, scale, wait', async () => {
    for (const [command, answer] of [
      ['create deployment web --image=web:1 --replicas=2', /deployment.apps\/web created/],
      ['rollout status deployment/web --timeout=120s', /successfully rolled out/],
      ['scale deployment web --replicas=5', /deployment.apps\/web scaled/],
      ['wait --for=jsonpath={.status.readyReplicas}=5 deployment/web --timeout=120s', /condition met/],
      ['expose deployment web --port=80', /service\/web exposed/],
      ['get deployment web -o wide', /web +5\/5 +5 +5 .*web:1/],
    ] as const) {
      const { code, stdout, stderr } = await kubectl(...command.split(' '));
      assert.equal(code, 0, `${command}: ${stderr}`);
      assert.match(stdout, answer, command);
    }
  });

  test('status names objects in trouble, and an assistant reads it over stdin and stdout', async () => {
    const status = async (): Promise<string> => (await keelson(['status', `--data-dir=${folder}/data`])).stdout;
    assert.match(await status(), /^disk {8}.* free .*^trouble {5}none$/ms);
    await kubectl('run', 'lost', '--image=web:1', '--overrides={"spec":{"nodeSelector":{"disk":"ssd"}}}');
    const trouble = /^trouble {5}pod\/default\/lost has no node yet: .* \[Unschedulable\.NodeAffinity/m;
    await until('the pod that fits no node is named', async () => trouble.test(await status()));
    const args = [keelsonProgram, 'mcp', `--kubeconfig=${folder}/data/admin.kubeconfig`];
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(new StdioClientTransport({ command: process.execPath, args }));
    try {
      const { content } = await client.callTool({ name: 'trouble', arguments: {} });
      assert.match(JSON.stringify(content), /pod\/default\/lost .*Unschedulable/);
      const told = await client.callTool({
        name: 'history',
        arguments: { kind: 'deploy', name: 'web', statusToo: true },
      });
      assert.match(JSON.stringify(told.content), /patch scale +spec\.replicas: 2 → 5.*created/);
    } finally {
      await client.close();
    }
    await kubectl('delete', 'pod', 'lost');
  });

  test('logs, exec, top: as described by the image', async () => {
    assert.equal((await kubectl('logs', 'deployment/web')).stdout.trim(), 'listening');
    const exec = await kubectl('exec', 'deployment/web', '--', 'anything');
    assert.deepEqual([exec.code, exec.stdout], [3, 'what the image says\n'], exec.stderr);
    await until('top shows all five', async () => {
      const { stdout } = await kubectl('top', 'pods', '--no-headers');
      return stdout.match(/^web-\S+ +2\d\dm +64Mi/gm)?.length === 5;
    });
    await until('top shows the nodes', async () => {
      const { stdout } = await kubectl('top', 'nodes', '--no-headers');
      return stdout.match(/^node-\d +\d+m +\d+% +\d+Mi/gm)?.length === 3;
    });
  });

  test('port-forward reaches the server of the image', async () => {
    const child = spawn(kubectlProgram(), configured(['port-forward', 'deployment/web', ':80']), {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    running.add(child);
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const port = await until('kubectl listens', async () => /127\.0\.0\.1:(\d+) -> 80/.exec(said)?.[1]);
    assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), 'hello from a simulated pod');
  });

  test('drain moves pods away, delete leaves nothing', async () => {
    const drained = await kubectl('drain', 'node-1', '--ignore-daemonsets', '--timeout=120s');
    assert.equal(drained.code, 0, drained.stderr);
    const { stdout } = await kubectl('get', 'pods', '--field-selector=spec.nodeName=node-1', '--no-headers');
    assert.equal(stdout, '');
    assert.equal((await kubectl('delete', 'deployment,service', 'web', '--wait')).code, 0);
    await until('no pod is left', async () => (await kubectl('get', 'pods', '--no-headers')).stdout === '');
  });
});
