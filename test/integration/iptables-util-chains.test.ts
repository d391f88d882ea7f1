/** The kubelet's iptables chains in a real kernel, within a network namespace of this test. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createNodePlatform, type NodePlatform } from '../../src/platform/node/node-platform.ts';
import { startIptablesUtilChains } from '../../src/kubelet/network/iptables-util-chains.ts';
import { until } from './fixtures/until.ts';
import { must } from './fixtures/programs.ts';

const namespace = `kipt${process.pid}`;
let platform: NodePlatform;
const ended = new AbortController();

before(async () => {
  platform = createNodePlatform({ log: { level: 'error' } });
  await must('ip', ['netns', 'add', namespace]);
});
after(async () => {
  ended.abort();
  await must('ip', ['netns', 'delete', namespace]);
  platform.close();
});

test('real iptables accepts the chains and their rules, of both families', async () => {
  const inside = (program: string, args: readonly string[]) =>
    platform.exec.run('ip', ['netns', 'exec', namespace, program, ...args]);
  startIptablesUtilChains({ ...platform, exec: { run: inside } }, ended.signal);
  const saved = async (program: string): Promise<string> => (await inside(program, [])).stdout;
  const rules = await until('the chains of IPv4', async () => {
    const text = await saved('iptables-save');
    return (text.match(/:KUBE-KUBELET-CANARY/g) ?? []).length === 3 && text;
  });
  assert.match(rules, /\*mangle[^*]*:KUBE-IPTABLES-HINT/);
  for (const table of ['mangle', 'nat', 'filter'])
    assert.match(rules, new RegExp(`\\*${table}[^*]*:KUBE-KUBELET-CANARY`));
  assert.match(
    rules,
    /-A KUBE-FIREWALL ! -s 127\.0\.0\.0\/8 -d 127\.0\.0\.0\/8 .*"block incoming localnet connections" .*! --ctstate RELATED,ESTABLISHED,DNAT -j DROP/,
  );
  assert.match(rules, /-A OUTPUT -j KUBE-FIREWALL/);
  await until('the chains of IPv6', async () => (await saved('ip6tables-save')).includes(':KUBE-IPTABLES-HINT'));
});
