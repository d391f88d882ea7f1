import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { deriveInstance } from '../instance/instance.ts';
import { nodeBridge } from './nodes-file.ts';
import { takeDownNodes } from './take-down-nodes.ts';

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

it('takes away the network of a first start that ended before it wrote its record', async () => {
  assert.deepEqual(await linesOf(true), ['link del BRIDGE']);
});

it('starts no program for a cluster that never had further nodes', async () => {
  assert.deepEqual(await linesOf(false), []);
});
