/** docs/tutorial.md as a reader follows it: each command of its console blocks, and what it prints. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { kubectlProgram } from '../../tools/kubectl.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { startCluster, type TestCluster } from './cluster-fixture.ts';
import { keelsonProgram, run } from './fixtures/programs.ts';
import { until } from './fixtures/until.ts';
import { patternOf, transcriptOf } from './fixtures/transcript.ts';

const page = readFileSync(join(repositoryRoot, 'docs/tutorial.md'), 'utf8');
const programs = mkdtempSync(join(tmpdir(), 'keelson-tutorial-'));

let cluster: TestCluster;
let ports: Readonly<Record<string, string>>;
before(async () => {
  ports = { 8080: String(await freePort()), 8443: String(await freePort()) };
  const flags = ['--gateway-http-port', ports['8080']!, '--gateway-https-port', ports['8443']!];
  cluster = await startCluster({ flags });
  // The page's cluster is at the default place, this one is not.
  writeFileSync(
    join(programs, 'keelson'),
    `#!/bin/sh\nexec ${process.execPath} ${keelsonProgram} "$@" --data-dir ${cluster.dataDir}\n`,
    { mode: 0o755 },
  );
});
after(async () => {
  rmSync(programs, { recursive: true, force: true });
  await cluster?.stop();
});

/** Ports of the page become those of this cluster. */
function here(command: string): string {
  return command.replaceAll(/(localhost:|--gateway-https?-port )(\d+)/g, (_, what: string, port: string) => {
    return `${what}${ports[port]!}`;
  });
}

/** What changes nothing is repeated: the page's reader takes longer than a test from one command to the next. */
const READING = /^(curl|kubectl get|keelson (why|history|trace)) /;

test('each command of the tutorial prints what the page shows', async () => {
  const env = {
    ...process.env,
    KUBECONFIG: cluster.kubeconfig,
    PATH: [programs, dirname(kubectlProgram()), process.env['PATH']].join(':'),
  };
  const commands = transcriptOf(page);
  assert.ok(commands.length > 10, 'the page has console blocks');
  for (const { line, command, output } of commands) {
    const where = `docs/tutorial.md:${line}: ${command}\n`;
    let printed = '';
    const isAsShown = async (): Promise<boolean> => {
      const { code, stdout, stderr } = await run('bash', ['-c', here(command)], { env, timeoutMs: 180_000 });
      printed = `${code === 0 ? '' : `exit code ${code}\n`}${stdout}${stderr}`;
      return patternOf(output).test(printed);
    };
    if (READING.test(command)) await until(where, isAsShown, 120_000).catch(() => undefined);
    else await isAsShown();
    assert.match(printed, patternOf(output), where);
  }
});
