import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { deriveInstance } from '../instance/instance.ts';
import { nodeBridge, writeNodesFile } from './nodes-file.ts';
import { takeDownNodes } from './take-down-nodes.ts';

const HOLDER = 77;

async function linesOf(hasBridge: boolean): Promise<readonly string[]> {
  const platform = createSimPlatform();
  const ranges = { clusterCidr: '10.42.0.0/16', serviceCidr: '10.43.0.0/16', clusterDomain: 'cluster.local' };
  const instance = deriveInstance({ dataDir: '/data', nodeName: 'here', httpsPort: 6443, ...ranges }, (text) =>
    platform.crypto.sha256Hex(text),
  );
  const lines: string[] = [];
  platform.exec.program('ip', ({ options }) => {
    lines.push(String(options.input).trim().replace(nodeBridge(instance), 'BRIDGE'));
    return {};
  });
  platform.exec.program('nft', () => ({}));
  platform.exec.program('iptables', () => ({ exitCode: 1 }));
  if (hasBridge) await platform.files.makeDir(`/sys/class/net/${nodeBridge(instance)}`);
  assert.deepEqual(await takeDownNodes(platform, instance), []);
  return lines;
}

it('removes the network of a first start that ended before it wrote its record', async () => {
  assert.deepEqual(await linesOf(true), ['link del BRIDGE']);
});

it('starts no program for a cluster that never had further nodes', async () => {
  assert.deepEqual(await linesOf(false), []);
});

it('kills processes that do not stop: that is logged, and no problem', async () => {
  const platform = createSimPlatform();
  const { files, log } = platform;
  const ranges = { clusterCidr: '10.42.0.0/16', serviceCidr: '10.43.0.0/16', clusterDomain: 'cluster.local' };
  const instance = deriveInstance({ dataDir: '/data', nodeName: 'here', httpsPort: 6443, ...ranges }, (text) =>
    platform.crypto.sha256Hex(text),
  );
  await files.makeDir('/data');
  await writeNodesFile(files, '/data', { format: 1, network: '10.58.0.0/24', nodes: [{ name: 'here-2', number: 2 }] });
  const recordDir = `${instance.runDir}/nodes/here-2`;
  await files.makeDir(recordDir);
  await files.writeFile(`${recordDir}/holder.json`, JSON.stringify({ pid: HOLDER, configHash: '' }));
  const proc = `/proc/${HOLDER}`;
  await files.makeDir(proc);
  await files.writeFile(`${proc}/cmdline`, 'sleep\0infinity\0');
  await files.writeFile(`${proc}/stat`, `${HOLDER} (sleep) S ${'1 '.repeat(30)}`);
  for (const own of [proc, '/proc/self']) {
    await files.makeDir(own);
    await files.writeFile(`${own}/status`, 'Uid:\t0\t0\t0\t0\n');
  }
  await files.writeFile(`${proc}/environ`, `KEELSON_DAEMON_RECORD=${recordDir}/holder.json\0`);
  const signals: string[] = [];
  const kill = (pid: number, signal: string | number): boolean => {
    if (pid === HOLDER && signal === 'SIGKILL') files.remove(proc).catch(assert.fail);
    if (signal !== 0) signals.push(`${signal} ${pid}`);
    return pid === HOLDER;
  };
  platform.exec.program('nsenter', () => ({ exitCode: 1, stderr: 'keelson: keelson (pid 7) does not stop\n' }));
  for (const program of ['nft', 'iptables'])
    platform.exec.program(program, () => ({ exitCode: program === 'nft' ? 0 : 1 }));
  const deps = { ...platform, exec: Object.assign(Object.create(platform.exec), { kill }) };
  assert.deepEqual(await platform.clock.drive(takeDownNodes(deps, instance)), []);
  assert.deepEqual(signals, [`SIGKILL ${HOLDER}`]);
  const warnings = log.entries.filter(({ level }) => level === 'warn').map(({ fields }) => fields);
  assert.deepEqual(warnings, [{ node: 'here-2', reason: 'keelson (pid 7) does not stop' }]);
});
