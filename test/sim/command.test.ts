/** `keelson sim` on a scenario that fails: seed and replay file, the same failure again, a smaller one. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { repositoryRoot } from '../../tools/repository.ts';

const FAILING = `name: Web survives one machine
nodes: 2
steps:
  - apply: { apiVersion: v1, kind: ConfigMap, metadata: { name: a } }
  - apply: { apiVersion: v1, kind: Pod, metadata: { name: web }, spec: { containers: [{ name: c, image: web:1 }] } }
  - wait: { for: pod/web }
  - restart: kubelet/node-1
  - crash: node/node-1
  - crash: node/node-2
  - advance: 70s..80s
  - expect: { object: pod/web, is: Ready }
`;

const IDLE = `name: Idle
steps:
  - apply: { apiVersion: v1, kind: ConfigMap, metadata: { name: a } }
  - wait: { for: configmap/a, until: exists }
  - wait: { for: configmap/a, until: exists }
`;

test('a failing scenario is run, replayed and shrunk; an invalid one is refused', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'keelson-sim-'));
  t.after(() => rm(folder, { recursive: true }));
  const sim = async (...args: string[]): Promise<{ code: number; said: string }> => {
    const program = [join(repositoryRoot, 'bin/keelson'), 'sim', ...args];
    try {
      const { stdout } = await promisify(execFile)(process.execPath, program, { cwd: folder });
      return { code: 0, said: stdout };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
      return { code, said: stdout + stderr };
    }
  };
  await writeFile(join(folder, 'web.yaml'), FAILING);
  const run = await sim('run', '--seeds', '1', '--from', '7', '--threads', '1', 'web.yaml');
  const message = /Web survives one machine \(seed 7\), step 8 .*: pod default\/web is not Ready/;
  assert.equal(run.code, 1, run.said);
  assert.match(run.said, message);
  assert.match(run.said, /seeds that failed: 7\n {4}replay file: web\.seed-7\.replay\.yaml/);

  assert.match(
    run.said,
    / {4}what happened: keelson sim replay -v (web\.seed-7\.replay\.yaml)\n {4}in the browser: keelson sim replay --console \1\n {4}fewer steps: keelson sim shrink \1\n/,
  );

  const story = await sim('replay', '-v', 'web.seed-7.replay.yaml');
  assert.match(
    story.said,
    /^seed 7\n +\+0ms {2}step 1 .*\n[^]*step 6 +note: node-2 has no power.*No other node is Ready[^]*step 8 +failed: pod default\/web is not Ready.*\nFAILED {2}Web/,
  );
  assert.deepEqual(await sim('run', '-v', '--seed', '7', '--no-replays', 'web.yaml').then(({ code }) => code), 1);
  await writeFile(join(folder, 'idle.yaml'), IDLE);
  const idle = await sim('run', '-v', '--seeds', '2', 'idle.yaml');
  assert.match(
    idle.said,
    /^seed 1\n[^]*step 3 +passed\nok {2}Idle: 2 of 2 seeds, [\d.]+ s\n {4}steps 2, 3: what it waits for was so already.*\n$/,
  );
  assert.doesNotMatch((await sim('run', '--seeds', '2', 'idle.yaml')).said, /\+0ms/);

  const replay = await sim('replay', 'web.seed-7.replay.yaml');
  assert.deepEqual([replay.code, message.test(replay.said)], [1, true], replay.said);
  assert.match(replay.said, /\n {4}pod default\/web\n[^]*\nkeelson: Web survives one machine fails with seed 7\n$/);

  const shrunk = await sim('shrink', 'web.seed-7.replay.yaml');
  assert.deepEqual([shrunk.code, shrunk.said], [0, 'web.seed-7.min.yaml: 4 of 8 steps play a part\n']);
  const small = await readFile(join(folder, 'web.seed-7.min.yaml'), 'utf8');
  assert.match(small, /advance: 7\d{4}ms\n/);
  assert.doesNotMatch(small, /ConfigMap|restart/);
  const again = await sim('replay', 'web.seed-7.min.yaml');
  assert.match(again.said, /\(seed 7\), step 4 .*: pod default\/web is not Ready/);

  await writeFile(join(folder, 'web.yaml'), FAILING.replace('wait: { for', 'wait: { fro'));
  const refused = await sim('run', 'web.yaml');
  assert.equal(refused.code, 2);
  assert.match(
    refused.said,
    /^keelson: web\.yaml: line 6: step 3, wait\.fro: unknown field; did you mean for\? There are for, until/,
  );
});
