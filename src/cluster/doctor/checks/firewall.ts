/** Rules of the machine's own firewall that drop what pods send to one another and to this machine. */
import { rangesOf } from '../../../base/cidr.ts';
import { dropsForwarded } from '../../network/forward-accepts.ts';
import { warning, worstOf, type Check, type Finding } from '../finding.ts';
import type { DroppingChain, Machine } from '../machine.ts';

/** The first ranges that a start tries. */
const [PODS, SERVICES] = ['10.42.0.0/16', '10.43.0.0/16'];

export const firewall: Check = {
  name: 'firewall',
  check(machine) {
    const { iptables, droppingChains, firewalldTrusts } = machine.firewall;
    if (!machine.isRoot) return warning('only root can read it', 'sudo keelson doctor');
    const forwards = iptables !== undefined && dropsForwarded(iptables);
    return worstOf(
      [
        ...chains(machine, droppingChains),
        ...inputProblem(machine, iptables ?? ''),
        ...firewalldProblem(machine, firewalldTrusts),
      ],
      forwards
        ? 'iptables drops forwarded packets; Keelson puts accepts for pods before that'
        : 'drops nothing that pods send',
    );
  },
};

function podRange({ settled }: Machine): string {
  return rangesOf(settled?.clusterCidr ?? PODS)[0] ?? PODS;
}

function chains(machine: Machine, dropping: readonly DroppingChain[]): Finding[] {
  const bridge = machine.settled?.bridge ?? 'kl*';
  const range = podRange(machine);
  // A rule that names the bridge or the range is somebody's answer to this warning.
  return dropping
    .filter(({ rules }) => !rules.includes(`"${bridge}"`) && !rules.includes(` ${range} `))
    .map(({ chain }) =>
      warning(
        `the nftables chain ${chain} drops forwarded packets, those of pods too`,
        `nft insert rule ${chain} iifname "${bridge}" accept, and the same with oifname`,
      ),
    );
}

/** As ufw sets it up: what comes in is dropped, so pods do not reach the API server on their own node. */
function inputProblem(machine: Machine, iptables: string): Finding[] {
  const range = podRange(machine);
  if (!/^-P INPUT DROP$/m.test(iptables) || iptables.includes(`-s ${range} `)) return [];
  const hasUfw = /^-A INPUT -j ufw-/m.test(iptables);
  return [
    warning(
      `iptables drops what comes in: pods (${range}) may not reach this node`,
      hasUfw ? `ufw allow from ${range}` : `iptables -I INPUT -s ${range} -j ACCEPT`,
    ),
  ];
}

function firewalldProblem(machine: Machine, trusts: readonly string[] | undefined): Finding[] {
  const services = rangesOf(machine.settled?.serviceCidr ?? SERVICES)[0] ?? SERVICES;
  const missing = [podRange(machine), services].filter((range) => trusts !== undefined && !trusts.includes(range));
  if (missing.length === 0) return [];
  const sources = missing.map((range) => `--add-source=${range}`).join(' ');
  return [
    warning(
      'firewalld rejects forwarded packets of zones that it does not trust',
      `firewall-cmd --permanent --zone=trusted ${sources} && firewall-cmd --reload`,
    ),
  ];
}
