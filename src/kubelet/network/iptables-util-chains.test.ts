/** The chains that are kept, over a model of the tables. Real iptables: test/integration/iptables-util-chains.test.ts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { startIptablesUtilChains } from './iptables-util-chains.ts';

/** Chains and rules of one program, as lines. */
function tables(broken = false) {
  const content = new Set<string>();
  const answer = (args: readonly string[]): { exitCode: number; stderr?: string } => {
    const [, table = '', verb = '', chain = '', ...rest] = args.slice(4);
    if (broken) return { exitCode: 4, stderr: 'Permission denied' };
    const line = [table, chain, ...rest].join(' ');
    if (verb === '-S' || verb === '-C') return { exitCode: content.has(line) ? 0 : 1 };
    if (rest.length > 0 && !['INPUT', 'OUTPUT'].includes(chain) && !content.has(`${table} ${chain}`))
      return { exitCode: 2, stderr: 'no such chain' };
    content.add(line);
    return { exitCode: 0 };
  };
  return { content, answer };
}

describe('chains others rely on', () => {
  it('are made at once, and again when the tables were flushed', async () => {
    const { clock, exec, log } = createSimPlatform();
    const [four, six] = [tables(), tables()];
    exec.program('iptables', ({ args }) => four.answer(args));
    exec.program('ip6tables', ({ args }) => six.answer(args));
    const controller = new AbortController();
    startIptablesUtilChains({ clock, exec, log }, controller.signal);
    await clock.settle();
    const canaries = ['mangle', 'nat', 'filter'].map((table) => `${table} KUBE-KUBELET-CANARY`);
    assert.deepEqual([...six.content], ['mangle KUBE-IPTABLES-HINT', ...canaries]);
    const wanted = [
      'mangle KUBE-IPTABLES-HINT',
      'filter KUBE-FIREWALL',
      'filter KUBE-FIREWALL -m comment --comment block incoming localnet connections -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP',
      'filter OUTPUT -j KUBE-FIREWALL',
      'filter INPUT -j KUBE-FIREWALL',
      ...canaries,
    ];
    assert.deepEqual([...four.content], wanted);
    four.content.clear();
    await clock.advance(60_000);
    assert.deepEqual([...four.content], wanted);
    controller.abort();
    await clock.settle();
    assert.equal(clock.pendingTimers, 0);
  });

  it('are retried where they could not be created, which is logged once', async () => {
    const { clock, exec, log } = createSimPlatform();
    let six = tables(true);
    exec.program('ip6tables', ({ args }) => six.answer(args));
    const controller = new AbortController();
    startIptablesUtilChains({ clock, exec, log }, controller.signal); // There is no iptables at all.
    await clock.advance(180_000);
    const said = log.entries.filter(({ message }) => message.startsWith('Failed to ensure the chains'));
    assert.deepEqual(said.map(({ fields }) => fields?.['program']).sort(), ['ip6tables', 'iptables']);
    six = tables();
    await clock.advance(60_000);
    assert.equal(six.content.size, 4);
    controller.abort();
  });
});
