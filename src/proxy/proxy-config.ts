/** What a service proxy is set up with. Upstream: KubeProxyConfiguration, as far as the rules depend on it. */
/** How rules come into the kernel. */
export type ProxyMode = 'nftables' | 'iptables' | 'userspace';

/** Names and ranges of the instance. Ranges of several families are separated by commas. */
export interface ServiceProxyConfig {
  readonly nodeName: string;
  readonly nftTable: string;
  readonly clusterCidr: string;
  readonly serviceCidr: string;
  /** The address of cluster DNS, where that is ours. */
  readonly ownDns?: string;
  /** Its upper 16 bits are used; the lower ones are the slots of session affinity. */
  readonly masqueradeMark: number;
  readonly mode: ProxyMode;
  /** Where node ports answer, checked: ranges, or `primary`. Absent or empty: on all addresses. */
  readonly nodePortAddresses?: readonly string[];
  /** TCP ports on which this machine serves the API and its kubelet: no pod's host port is served there. */
  readonly ownTcpPorts?: readonly number[];
  /** Put before each command, e.g. `ip netns exec NAME`. */
  readonly commandPrefix?: readonly string[];
}
