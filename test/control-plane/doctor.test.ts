/** `keelson doctor` on this machine: before a cluster, beside a running one, and on a stopped one whose port is in use. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { DoctorReport } from '../../src/cluster/doctor/report.ts';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { keelsonProgram, run, type Outcome } from '../integration/fixtures/programs.ts';

const scratch = mkdtempSync(join(tmpdir(), 'keelson-doctor-'));
const dataDir = join(scratch, 'data');
const keelson = (...args: string[]): Promise<Outcome> =>
  run(process.execPath, [keelsonProgram, ...args, '--data-dir', dataDir]);

after(async () => {
  await keelson('down', '--delete-data');
  rmSync(scratch, { recursive: true, force: true });
});

interface Examination {
  readonly code: number;
  readonly byName: ReadonlyMap<string, DoctorReport['checks'][number]>;
}

async function examine(): Promise<Examination> {
  const { code, stdout, stderr } = await keelson('doctor', '-o', 'json');
  assert.equal(stderr, '');
  const report = JSON.parse(stdout) as DoctorReport;
  assert.equal(code, report.level === 'error' ? 1 : 0);
  return { code, byName: new Map(report.checks.map((check) => [check.name, check])) };
}

test('a machine and its cluster are examined whatever runs', async () => {
  const before = await examine();
  assert.equal(before.byName.get('certificates')?.message, 'none yet');
  const text = await keelson('doctor');
  assert.equal(text.stdout.trimEnd().split('\n').length, before.byName.size);
  for (const line of text.stdout.trimEnd().split('\n')) assert.match(line, /^(✓ [^→]+|[!✖] .+ → .+)$/);

  const port = await freePort();
  const up = await keelson('server', '--disable-agent', '--https-port', String(port), '--detach');
  assert.equal(up.code, 0, up.stderr);
  const running = await examine();
  assert.doesNotMatch(running.byName.get('ports')!.message, new RegExp(`${port} .*is taken`));
  assert.equal(running.byName.get('certificates')?.level, 'ok');
  assert.match(running.byName.get('certificates')!.message, /^\d+, the first ends on \d{4}-/);
  assert.match(running.byName.get('ranges')!.message, /^(pods )?10\./);

  const down = await keelson('down');
  assert.equal(down.code, 0, down.stderr);
  // Another program's port replaces the recorded one, because another process may use the port that was just freed.
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port: taken } = other.address() as AddressInfo;
  const file = join(dataDir, 'instance.json');
  const settled = readFileSync(file, 'utf8');
  assert.ok(settled.includes(`"httpsPort": ${port}`), settled);
  writeFileSync(file, settled.replace(`"httpsPort": ${port}`, `"httpsPort": ${taken}`));
  try {
    const stopped = await examine();
    assert.equal(stopped.code, 1);
    assert.equal(stopped.byName.get('ports')?.level, 'error');
    assert.match(
      stopped.byName.get('ports')!.message,
      new RegExp(`${taken} \\(API server\\) is taken by \\S+ \\(pid ${process.pid}\\)`),
    );
  } finally {
    other.close();
  }
  writeFileSync(join(dataDir, 'pki', 'admin.crt'), 'broken');
  assert.match((await examine()).byName.get('certificates')!.message, /admin\.crt cannot be read/);

  writeFileSync(file, settled.slice(0, 20));
  const broken = await examine();
  assert.match(broken.byName.get('directory')!.message, /instance\.json/);
  assert.equal(broken.byName.size, before.byName.size);
  writeFileSync(file, settled);
});
