/**
 * `keelson doctor` with a real firewall, in a network namespace of its own: rules that drop packets are found, and the suggested
 * command repairs them.
 */
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { DoctorReport } from '../../src/cluster/doctor/report.ts';
import { keelsonProgram, must } from './fixtures/programs.ts';

const DOCTOR = `${process.execPath} ${keelsonProgram} doctor --data-dir /var/lib/keelson-none -o json`;
const CHAIN = 'inet mine forwarding';

// The machine's firewalld answers over a Unix socket, which a network namespace does not isolate.
const programs = mkdtempSync(join(tmpdir(), 'keelson-doctor-'));
writeFileSync(join(programs, 'firewall-cmd'), '#!/bin/sh\necho FirewallD is not running >&2\nexit 252\n');
chmodSync(join(programs, 'firewall-cmd'), 0o755);
after(() => rmSync(programs, { recursive: true }));

/** The firewall check's result after a script has changed the firewall of a new namespace. */
async function firewallAfter(...script: readonly string[]): Promise<DoctorReport['checks'][number] | undefined> {
  const lines = ['set -e', `PATH=${programs}:$PATH`, ...script, `${DOCTOR} || test $? -eq 1`];
  const stdout = await must('unshare', ['--net', 'sh', '-c', lines.join('\n')]);
  return (JSON.parse(stdout) as DoctorReport).checks.find(({ name }) => name === 'firewall');
}

const DROPPING = [
  'nft add table inet mine',
  `nft 'add chain ${CHAIN} { type filter hook forward priority 0; policy drop; }'`,
];

test('an open firewall passes', async () => {
  assert.equal((await firewallAfter())?.level, 'ok');
});

test('a chain that drops packets is reported until the suggested rule exists', async () => {
  const found = await firewallAfter(...DROPPING);
  assert.equal(found?.level, 'warning');
  assert.match(found.message, new RegExp(`the nftables chain ${CHAIN} drops`));
  const [cure, file] = (found.cure ?? '').split(/, (?=and the same rules in)/);
  assert.ok(
    cure !== undefined && cure.startsWith('nft insert rule ') && file?.endsWith('/etc/nftables.conf'),
    found.cure,
  );
  assert.equal((await firewallAfter(...DROPPING, cure))?.level, 'ok');
});

test('an INPUT chain that drops packets is reported until pods are accepted', async () => {
  const found = await firewallAfter('iptables -P INPUT DROP');
  assert.equal(found?.level, 'warning');
  assert.match(found.cure ?? '', /^iptables -I INPUT -s \S+ -j ACCEPT$/);
  assert.equal((await firewallAfter('iptables -P INPUT DROP', found.cure ?? ''))?.level, 'ok');
});
