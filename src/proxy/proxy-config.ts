/** The configuration of a service proxy. Upstream: KubeProxyConfiguration, as far as the rules depend on it. */
/** The mechanism of the rules. */
export type ProxyMode = 'nftables' | 'iptables' | 'userspace';

/** Names and ranges of the instance. Ranges of several families are separated by commas. */
export interface ServiceProxyConfig {
  readonly nodeName: string;
  readonly nftTable: string;
  readonly clusterCidr: string;
  readonly serviceCidr: string;
  /** The address of Keelson's cluster DNS, if it runs. */
  readonly ownDns?: string;
  /** Its upper 16 bits are used; the lower ones are the slots of session affinity. */
  readonly masqueradeMark: number;
  readonly mode: ProxyMode;
  /** Addresses of node ports, validated: ranges, or `primary`. Absent or empty: all addresses. */
  readonly nodePortAddresses?: readonly string[];
  /** TCP ports of this machine's API server and kubelet, which are not served as pods' host ports. */
  readonly ownTcpPorts?: readonly number[];
  /** Prefix of each command, such as `ip netns exec NAME`. */
  readonly commandPrefix?: readonly string[];
}
