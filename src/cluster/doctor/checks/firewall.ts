/** Firewall rules of the machine that drop traffic between pods, or from pods to this machine. */
import { rangeFamily, rangesOf } from '../../../base/cidr.ts';
import { dropsForwarded } from '../../network/forward-accepts.ts';
import { warning, worstOf, type Check, type Finding } from '../finding.ts';
import type { DroppingChain, Machine } from '../machine.ts';

/** The ranges that a start tries first. */
const [PODS, SERVICES] = ['10.42.0.0/16', '10.43.0.0/16'];

export const firewall: Check = {
  name: 'firewall',
  check(machine) {
    const { iptables, ip6tables, droppingChains, firewalldTrusts } = machine.firewall;
    if (!machine.isRoot) return warning('only root can read it', 'sudo keelson doctor');
    const forwards = [iptables, ip6tables].some((listing) => listing !== undefined && dropsForwarded(listing));
    return worstOf(
      [
        ...droppingChains.flatMap((chain) => chainProblem(machine, chain)),
        ...podRanges(machine).flatMap((range) => inputProblem(machine, 'pods', range)),
        ...nodesRange(machine).flatMap((range) => inputProblem(machine, 'its further nodes', range)),
        ...firewalldProblem(machine, firewalldTrusts),
      ],
      forwards
        ? 'iptables drops forwarded packets; Keelson puts accepts for pods before that'
        : 'drops nothing that pods send',
    );
  },
};

/** One per family of the pods. */
function podRanges({ settled }: Machine): readonly string[] {
  return rangesOf(settled?.clusterCidr ?? PODS);
}

/** The range of the bridge to further nodes of this machine, if there are any. */
function nodesRange({ nodes: { entries, network } }: Machine): readonly string[] {
  return entries.length === 0 || network === undefined ? [] : [network];
}

function chainProblem(machine: Machine, { chain, rules }: DroppingChain): Finding[] {
  const [family] = chain.split(' ');
  const closed = podRanges(machine)
    .filter((range) => (family === 'ip' ? rangeFamily(range) === 4 : family !== 'ip6' || rangeFamily(range) === 6))
    .filter((range) => !letsPass(machine, rules, range));
  if (closed.length === 0) return [];
  const cures = closed.flatMap((range) => {
    const kind = rangeFamily(range) === 6 ? 'ip6' : 'ip';
    return ['saddr', 'daddr'].map((side) => `nft insert rule ${chain} ${kind} ${side} ${range} accept`);
  });
  return [
    warning(
      `the nftables chain ${chain} drops forwarded packets, those of pods too`,
      `${cures.join(' && ')}, and the same rules in /etc/nftables.conf`,
    ),
  ];
}

/** Whether these rules accept the range, or the bridge if pods are behind one. */
function letsPass({ settled, kernel }: Machine, rules: string, range: string): boolean {
  const bridges = kernel.hasBridgeNetfilter ? ['"kl*"', ...(settled === undefined ? [] : [`"${settled.bridge}"`])] : [];
  const accepting = rules.split('\n').filter((rule) => /\baccept\b/.test(rule));
  return accepting.some((rule) => rule.split(/[\s,]+/).some((word) => word === range || bridges.includes(word)));
}

/**
 * The problem of ufw's default: incoming packets are dropped, so pods do not reach the API server on their own node.
 */
function inputProblem({ firewall: { iptables, ip6tables } }: Machine, who: string, range: string): Finding[] {
  const [program, listing = ''] = rangeFamily(range) === 6 ? ['ip6tables', ip6tables] : ['iptables', iptables];
  const lines = listing.split('\n');
  // Keelson's own accepts at FORWARD contain the range.
  const answer = (line: string): boolean =>
    /^-A (INPUT|ufw6?-user-input) .*-j ACCEPT$/.test(line) &&
    line.includes(` -s ${range} `) &&
    !line.includes(' ! -s ');
  if (!lines.includes('-P INPUT DROP') || lines.some(answer)) return [];
  const hasUfw = lines.some((line) => /^-A INPUT -j ufw6?-/.test(line));
  return [
    warning(
      `${program} drops what comes in: ${who} (${range}) may not reach this node`,
      hasUfw ? `ufw allow from ${range}` : `${program} -I INPUT -s ${range} -j ACCEPT`,
    ),
  ];
}

function firewalldProblem(machine: Machine, trusts: readonly string[] | undefined): Finding[] {
  const services = rangesOf(machine.settled?.serviceCidr ?? SERVICES);
  const missing = [...podRanges(machine), ...services].filter(
    (range) => trusts !== undefined && !trusts.includes(range),
  );
  if (missing.length === 0) return [];
  const sources = missing.map((range) => `--add-source=${range}`).join(' ');
  return [
    warning(
      'firewalld rejects forwarded packets of zones that it does not trust',
      `firewall-cmd --permanent --zone=trusted ${sources} && firewall-cmd --reload`,
    ),
  ];
}
