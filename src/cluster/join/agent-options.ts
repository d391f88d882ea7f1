/** The validated options of a machine that joins a cluster. */
import type { FlannelBackend } from '../instance/instance.ts';
import type { JoinToken } from './join-token.ts';
import type { KubeletSettings } from '../node/instance-kubelet.ts';

/** Needed to join; an agent that has joined has them in its files. */
export interface AgentOptions {
  readonly dataDir: string;
  /** URLs. */
  readonly servers?: readonly string[];
  readonly token?: JoinToken;
  readonly nodeName: string;
  readonly nodeIp?: string;
  readonly dnsStubDomains?: readonly string[];
  readonly proxyMode?: 'nftables' | 'iptables' | 'userspace';
  /** Addresses of node ports: ranges, or `primary`. Absent: all addresses. */
  readonly nodePortAddresses?: readonly string[];
  /** Absent: that of the last start, or of the cluster. */
  readonly flannelBackend?: FlannelBackend | undefined;
  readonly containerRuntimeEndpoint?: string;
  readonly kubelet?: KubeletSettings;
  /** Whether servers reach the kubelet through connections opened by this machine. */
  readonly tunnel?: boolean;
  /** The port of the registry on loopback. */
  readonly registryPort?: number | undefined;
}
