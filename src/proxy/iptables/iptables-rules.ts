/**
 * The iptables rules of all services, as text for `iptables-restore --noflush`, with upstream's chain names. Pure.
 * Upstream: pkg/proxy/iptables.
 *
 * Differs: host ports of pods are here too (KUBE-HOSTPORTS), and every change writes all rules; the nftables mode is the
 * one whose changes cost what changed.
 */
import type { Endpoint } from '../endpoints.ts';
import type { HostPortView } from '../host-port-rules.ts';
import type { ServicePortView } from '../service-map.ts';
import { FIXED_FILTER, FIXED_NAT, FROM_LOOPBACK, LOCAL, MARK, OWN_CHAIN } from './fixed-chains.ts';

export interface IptablesConfig {
  readonly family: 4 | 6;
  readonly clusterCidr: string;
  readonly serviceCidr: string;
  readonly sha256: (text: string) => Uint8Array;
}

export interface IptablesState {
  readonly ports: readonly ServicePortView[];
  readonly hostPorts: readonly HostPortView[];
  /** Ranges of this host's addresses that serve node ports; absent: all addresses. */
  readonly nodePortRanges?: readonly string[] | undefined;
  /** The proxy's chains in the kernel's nat table; undesired ones are deleted. */
  readonly presentChains: readonly string[];
}

export function iptablesRules(state: IptablesState, config: IptablesConfig): string {
  const rules = new Rules(config, state.nodePortRanges);
  for (const port of state.ports) rules.service(port);
  for (const hostPort of state.hostPorts) rules.hostPort(hostPort);
  return rules.text(state.presentChains);
}

/** RFC 4648 base 32 of the first ten bytes: the sixteen-letter suffix of upstream's chain names. */
function base32(bytes: Uint8Array): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  let bits = 0n;
  for (const byte of bytes.subarray(0, 10)) bits = (bits << 8n) | BigInt(byte);
  return Array.from({ length: 16 }, (_, i) => letters[Number((bits >> BigInt(75 - 5 * i)) & 31n)]).join('');
}

/** Collects the rules. */
class Rules {
  readonly #config: IptablesConfig;
  readonly #chains = new Set<string>();
  readonly #nat: string[] = [];
  readonly #nodePorts: string[] = [];
  readonly #filter: string[] = [];
  readonly #bits: number;
  /** Matches of the addresses of node ports; undefined: all addresses of this host. */
  readonly #nodePortMatches: readonly string[] | undefined;

  constructor(config: IptablesConfig, nodePortRanges: readonly string[] | undefined) {
    this.#config = config;
    this.#nodePortMatches = nodePortRanges?.map((range) => `-d ${range} ${LOCAL}`);
    this.#bits = config.family === 4 ? 32 : 128;
  }

  service(port: ServicePortView): void {
    const external = [...port.externalIps, ...port.loadBalancerIps];
    const internal = port.internalLocal ? port.local : port.cluster;
    const comment = (what: string): string => `-m comment --comment "${port.name} ${what}"`;
    const at = (ip: string): string =>
      `-d ${ip}/${this.#bits} -p ${port.protocol} -m ${port.protocol} --dport ${port.port}`;
    if (internal.length > 0) {
      const chain = this.#balance(port, port.internalLocal ? 'SVL' : 'SVC');
      this.#nat.push(`-A KUBE-SERVICES ${comment('cluster IP')} ${at(port.clusterIp)} -j ${chain}`);
    } else {
      const verdict = port.internalLocal && port.cluster.length > 0 ? 'DROP' : 'REJECT';
      this.#filter.push(`-A KUBE-SERVICES ${comment('has no endpoints')} ${at(port.clusterIp)} -j ${verdict}`);
    }
    if (external.length === 0 && port.nodePort === 0) return;
    this.#external(port, { external, at, comment });
  }

  #external(
    port: ServicePortView,
    {
      external,
      at,
      comment,
    }: { external: readonly string[]; at: (ip: string) => string; comment: (what: string) => string },
  ): void {
    const usable = port.externalLocal ? port.local : port.cluster;
    const nodePort = `-p ${port.protocol} -m ${port.protocol} --dport ${port.nodePort}`;
    if (usable.length === 0) {
      const verdict = port.externalLocal && port.cluster.length > 0 ? 'DROP' : 'REJECT';
      const why = comment(verdict === 'DROP' ? 'has no local endpoints' : 'has no endpoints');
      for (const ip of external) this.#filter.push(`-A KUBE-EXTERNAL-SERVICES ${why} ${at(ip)} -j ${verdict}`);
      if (port.nodePort > 0)
        for (const match of this.#nodePortMatches ?? [LOCAL])
          this.#filter.push(`-A KUBE-EXTERNAL-SERVICES ${why} ${match} ${nodePort} -j ${verdict}`);
    }
    if (port.cluster.length + port.local.length === 0) return;
    const chain = this.#externalChain(port);
    for (const ip of port.externalIps)
      this.#nat.push(`-A KUBE-SERVICES ${comment('external IP')} ${at(ip)} -j ${chain}`);
    for (const ip of port.loadBalancerIps) {
      const guarded = port.sourceRanges.length > 0;
      this.#nat.push(
        `-A KUBE-SERVICES ${comment('loadbalancer IP')} ${at(ip)} -j ${guarded ? this.#firewall(port, chain) : chain}`,
      );
      if (guarded)
        this.#filter.push(`-A KUBE-PROXY-FIREWALL ${comment('traffic not accepted by firewall')} ${at(ip)} -j DROP`);
    }
    if (port.nodePort > 0)
      this.#nodePorts.push(
        `-A KUBE-NODEPORTS ${comment('')} -p ${port.protocol} -m ${port.protocol} --dport ${port.nodePort} -j ${chain}`,
      );
  }

  /**
   * The chain for external traffic. Policy Local keeps the client's address; traffic from this node or its pods may
   * use any endpoint.
   */
  #externalChain(port: ServicePortView): string {
    const chain = this.#name('EXT', port);
    if (!this.#add(chain)) return chain;
    if (!port.externalLocal) {
      this.#nat.push(`-A ${chain} -j KUBE-MARK-MASQ`, `-A ${chain} -j ${this.#balance(port, 'SVC')}`);
      return chain;
    }
    if (port.cluster.length > 0) {
      const everywhere = this.#balance(port, 'SVC');
      this.#nat.push(
        `-A ${chain} -s ${this.#config.clusterCidr} -j ${everywhere}`,
        `-A ${chain} -m addrtype --src-type LOCAL -j KUBE-MARK-MASQ`,
        `-A ${chain} -m addrtype --src-type LOCAL -j ${everywhere}`,
      );
    }
    if (port.local.length > 0) this.#nat.push(`-A ${chain} -j ${this.#balance(port, 'SVL')}`);
    return chain;
  }

  #firewall(port: ServicePortView, then: string): string {
    const chain = this.#name('FW', port);
    if (this.#add(chain)) for (const range of port.sourceRanges) this.#nat.push(`-A ${chain} -s ${range} -j ${then}`);
    return chain;
  }

  /**
   * The chain that chooses an endpoint: with affinity the client's last one, otherwise at random with equal
   * probability.
   */
  #balance(port: ServicePortView, kind: 'SVC' | 'SVL'): string {
    const chain = this.#name(kind, port);
    if (!this.#add(chain)) return chain;
    const endpoints = kind === 'SVC' ? port.cluster : port.local;
    const front = `-d ${port.clusterIp}/${this.#bits} -p ${port.protocol} -m ${port.protocol} --dport ${port.port}`;
    this.#nat.push(`-A ${chain} ! -s ${this.#config.clusterCidr} ${front} -j KUBE-MARK-MASQ`);
    const targets = endpoints.map((endpoint) => this.#endpoint(port, endpoint));
    if (port.affinitySeconds > 0)
      for (const target of targets)
        this.#nat.push(
          `-A ${chain} -m recent --name ${target} --rcheck --seconds ${port.affinitySeconds} --reap -j ${target}`,
        );
    for (const [i, target] of targets.entries()) {
      const left = targets.length - i;
      const chance = left === 1 ? '' : `-m statistic --mode random --probability ${(1 / left).toFixed(10)} `;
      this.#nat.push(`-A ${chain} ${chance}-j ${target}`);
    }
    return chain;
  }

  #endpoint(port: ServicePortView, { address, port: number }: Endpoint): string {
    const to = address.includes(':') ? `[${address}]:${number}` : `${address}:${number}`;
    const chain = `KUBE-SEP-${this.#hash(`${port.name}${port.protocol}${to}`)}`;
    if (!this.#add(chain)) return chain;
    const remember = port.affinitySeconds > 0 ? `-m recent --name ${chain} --set ` : '';
    this.#nat.push(
      `-A ${chain} -s ${address}/${this.#bits} -j KUBE-MARK-MASQ`,
      `-A ${chain} -p ${port.protocol} -m ${port.protocol} ${remember}-j DNAT --to-destination ${to}`,
    );
    return chain;
  }

  hostPort({ hostIp, hostPort, protocol, podIp, containerPort }: HostPortView): void {
    const at = hostIp === '' ? '' : `-d ${hostIp}/${this.#bits} `;
    const to = podIp.includes(':') ? `[${podIp}]:${containerPort}` : `${podIp}:${containerPort}`;
    const match = `${at}-p ${protocol} -m ${protocol} --dport ${hostPort}`;
    this.#nat.push(
      `-A KUBE-HOSTPORTS ${match} -s ${podIp}/${this.#bits} -j KUBE-MARK-MASQ`,
      `-A KUBE-HOSTPORTS ${match} -j DNAT --to-destination ${to}`,
    );
  }

  text(presentChains: readonly string[]): string {
    const stale = presentChains.filter((chain) => OWN_CHAIN.test(chain) && !this.#chains.has(chain));
    const { serviceCidr } = this.#config;
    return `${[
      '*filter',
      ...FIXED_FILTER.map((chain) => `:${chain} - [0:0]`),
      ...this.#filter,
      // Traffic for unknown services must not leave this machine; DNS listens on a local address of the range.
      `-A KUBE-SERVICES -d ${serviceCidr} -m addrtype ! --dst-type LOCAL -j REJECT`,
      '-A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP',
      `-A KUBE-FORWARD -m mark --mark ${MARK}/${MARK} -j ACCEPT`,
      '-A KUBE-FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT',
      'COMMIT',
      '*nat',
      ...[...FIXED_NAT, ...this.#chains, ...stale].map((chain) => `:${chain} - [0:0]`),
      `-A KUBE-MARK-MASQ -j MARK --or-mark ${MARK}`,
      ...(this.#config.family === 4 ? [FROM_LOOPBACK] : []),
      `-A KUBE-POSTROUTING -m mark ! --mark ${MARK}/${MARK} -j RETURN`,
      `-A KUBE-POSTROUTING -j MARK --xor-mark ${MARK}`,
      '-A KUBE-POSTROUTING -j MASQUERADE --random-fully',
      ...this.#nat,
      ...this.#nodePorts,
      // Cluster DNS listens on a local address of the service range, which no pod's port may take.
      `-A KUBE-SERVICES ! -d ${serviceCidr} ${LOCAL} -j KUBE-HOSTPORTS`,
      ...this.#nodePortJumps(),
      ...stale.map((chain) => `-X ${chain}`),
      'COMMIT',
    ].join('\n')}\n`;
  }

  /** Must come last. A loopback address in an explicit range has no effect, as replies would not be routed. */
  #nodePortJumps(): string[] {
    const loopback = this.#config.family === 4 ? '127.0.0.0/8' : '::1/128';
    if (this.#nodePortMatches === undefined) return [`-A KUBE-SERVICES ${LOCAL} -j KUBE-NODEPORTS`];
    const jumps = this.#nodePortMatches.map((match) => `-A KUBE-SERVICES ${match} -j KUBE-NODEPORTS`);
    return [`-A KUBE-SERVICES -d ${loopback} -j RETURN`, ...jumps];
  }

  #name(kind: 'SVC' | 'SVL' | 'EXT' | 'FW', port: ServicePortView): string {
    return `KUBE-${kind}-${this.#hash(`${port.name}${port.protocol}`)}`;
  }

  #hash(text: string): string {
    return base32(this.#config.sha256(text));
  }

  /** Returns false when the chain exists already. */
  #add(chain: string): boolean {
    if (this.#chains.has(chain)) return false;
    this.#chains.add(chain);
    return true;
  }
}
