/** `keelson up --simulate --record`: kubectl's changes become a scenario, which `keelson sim run` repeats. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { parseScenario } from '../../src/testing/scenario.ts';
import { kubectlProgram } from '../../tools/kubectl.ts';
import { keelsonProgram } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';
import { keelson, run } from './own-servers.ts';

const MANIFEST = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: 'web:1' }] }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: settings }
data: { color: blue }
`;

test('changes by kubectl in a simulated cluster are recorded and repeated', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'keelson-record-'));
  const running = new Set<ChildProcess>();
  t.after(async () => {
    for (const child of running) child.kill('SIGKILL');
    await rm(folder, { recursive: true });
  });
  const file = join(folder, 'recorded.yaml');
  const args = async (): Promise<string[]> => [
    'up',
    '--simulate',
    '--nodes=2',
    `--data-dir=${folder}/data`,
    `--https-port=${await freePort()}`,
    `--images=${folder}/images.yaml`,
    `--record=${file}`,
    '--restart=never',
    '--write-kubeconfig=none',
    '--log-level=error',
  ];
  const kubectl = (...words: string[]) =>
    run(kubectlProgram(), [`--kubeconfig=${folder}/data/admin.kubeconfig`, `--cache-dir=${folder}/cache`, ...words]);
  const must = async (...words: string[]): Promise<void> => {
    const { code, stderr } = await kubectl(...words);
    assert.equal(code, 0, `kubectl ${words.join(' ')}: ${stderr}`);
  };
  const start = async (isRecorded = true): Promise<() => Promise<void>> => {
    const flags = (await args()).filter((flag) => isRecorded || !flag.startsWith('--record'));
    const server = spawn(process.execPath, [keelsonProgram, ...flags], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    running.add(server);
    await until('nodes are Ready', async () => {
      assert.equal(server.exitCode, null);
      return (await kubectl('get', 'nodes', '--no-headers')).stdout.match(/ Ready[ ,]/g)?.length === 2;
    });
    return async () => {
      const ended = new Promise((resolve) => server.once('exit', resolve));
      server.kill('SIGTERM');
      await ended;
      running.delete(server);
    };
  };

  await writeFile(join(folder, 'images.yaml'), 'web:1: { start: 1s }\n');
  await writeFile(join(folder, 'web.yaml'), MANIFEST);
  await writeFile(join(folder, 'green.yaml'), MANIFEST.replace('blue', 'green'));
  const stop = await start();
  await must('apply', '-f', `${folder}/web.yaml`);
  await must('wait', '--for=condition=Available', 'deployment/web', '--timeout=60s');
  await must('apply', '-f', `${folder}/green.yaml`);
  await must('scale', 'deployment/web', '--replicas=4');
  const { stdout } = await kubectl('get', 'pods', '-l', 'app=web', '-o', 'name');
  await must('delete', stdout.split('\n')[0]!);
  await must('create', 'namespace', 'shop');
  await must('create', 'deployment', 'extra', '--image=web:1', '-n', 'shop');
  await must('label', 'deployment/web', 'tier=front');
  await must('cordon', 'node-1');
  await must('drain', 'node-2', '--ignore-daemonsets', '--timeout=60s', '--force');
  await must('uncordon', 'node-2');
  await must('delete', 'deployment', 'extra', '-n', 'shop');
  await must('auth', 'can-i', 'get', 'pods');
  await stop();
  // Continues after a restart.
  const stopAgain = await start();
  await must('create', 'configmap', 'late', '--from-literal=a=b');
  await stopAgain();

  const text = await readFile(file, 'utf8');
  const { nodes, images, steps } = parseScenario(text);
  assert.deepEqual([nodes, images], [2, { 'web:1': { start: '1s' } }]);
  const words = steps.flatMap((step) => Object.keys(step)).filter((word) => word !== 'advance');
  assert.deepEqual(words.slice(0, 2), ['apply', 'apply']);
  assert.match(text, /delete: pod\/web-\w+-\*\n/);
  for (const word of ['patch', 'tryDrain', 'delete']) assert.ok(words.includes(word), text);
  assert.doesNotMatch(text, /last-applied|creationTimestamp|Not recorded|AccessReview|evict/);
  await appendFile(
    file,
    [
      '- wait: { pods: { selector: app=web, count: 4, ready: 4 }, within: 2m }',
      '- expect: { object: deployment/web, is: .metadata.labels.tier=front }',
      '- expect: { object: configmap/settings, is: .data.color=green }',
      '- expect: { object: configmap/late, is: .data.a=b }',
      '- expect: { object: deployment/shop/extra, is: deleted }',
      '- expect: { object: node/node-1, is: .spec.unschedulable=true }',
      '- rest: 2m',
      '',
    ].join('\n'),
  );
  const again = await keelson(['sim', 'run', '--seeds', '2', '--no-replays', file]);
  assert.equal(again.code, 0, `${again.stdout}${again.stderr}\n${text}`);

  const stopUnrecorded = await start(false);
  await stopUnrecorded();
  const gap = await run(process.execPath, [keelsonProgram, ...(await args())]);
  assert.deepEqual([gap.code, /has run without --record/.test(gap.stderr)], [1, true], gap.stderr);

  const refused = await run(process.execPath, [keelsonProgram, ...(await args()), `--data-dir=${folder}/other`]);
  assert.deepEqual([refused.code, /recorded\.yaml is there already/.test(refused.stderr)], [1, true], refused.stderr);
});
