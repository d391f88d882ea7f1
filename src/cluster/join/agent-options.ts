/** What a user decides about a machine that joins a cluster, checked. */
import type { JoinToken } from './join-token.ts';
import type { KubeletSettings } from '../node/instance-kubelet.ts';

/** Needed to join; a member keeps what it learnt. */
export interface AgentOptions {
  readonly dataDir: string;
  /** URLs. */
  readonly servers?: readonly string[];
  readonly token?: JoinToken;
  readonly nodeName: string;
  readonly nodeIp?: string;
  readonly dnsStubDomains?: readonly string[];
  readonly proxyMode?: 'nftables' | 'iptables' | 'userspace';
  /** Where node ports answer: ranges, or `primary`. Absent: on all addresses. */
  readonly nodePortAddresses?: readonly string[];
  readonly containerRuntimeEndpoint?: string;
  readonly kubelet?: KubeletSettings;
  /** Where a registry is served on loopback. */
  readonly registryPort?: number | undefined;
}
