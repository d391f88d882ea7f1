/** The table of the service matrix: the expected answer of each service by client. */

/** Ports of the prober in pods. */
export const [HTTP_PORT, UDP_PORT, SCTP_PORT] = [8080, 9000, 9100];
/** Host port of the pods of the table. */
export const HOST_PORT = 8_090;
const BOTH = 'on-agent on-server';

/** The proxy's modes, in the order of the test. */
export const MODES = ['nftables', 'iptables', 'userspace'] as const;

/** Names for sets of answers that are all correct. */
export const ONE_OF: Readonly<Record<string, readonly string[]>> = {
  one: BOTH.split(' '),
  'one ending': ['ending-agent', 'ending-server'],
  // The kernel limits the rate of refusals (ICMP).
  'refused at last': ['refused', 'refused silent'],
  unanswered: ['refused', 'silent', 'refused silent'],
};

/** The place of the client. */
export type From = 'server' | 'agent' | 'pod' | 'outside';
/** The expected answer by client; other clients send no request. */
type Heard = Partial<Readonly<Record<From, string>>>;
export type Mode = (typeof MODES)[number];
type Protocol = 'tcp' | 'udp' | 'sctp';

/** One service and its requests. */
export interface Row {
  readonly name: string;
  readonly spec: object;
  /** The selected pods: both by default. */
  readonly selector?: Readonly<Record<string, string>>;
  readonly protocol?: Protocol;
  /** Source port of every request. */
  readonly sourcePort?: number;
  /** Modes with another expected answer to all requests. */
  readonly modes?: Partial<Readonly<Record<Mode, string>>>;
  /** Address and port of a request, and its expected answers. */
  readonly asks: readonly (readonly [where: Where, heard: Heard])[];
}

/** Cluster address, DNS name, or a node's own address, with the port. */
export interface Where {
  readonly at: 'cluster' | 'name' | 'server' | 'agent' | string;
  readonly port: number;
}

/** The same answer for every client inside the cluster. */
export const everyone = (heard: string): Heard => ({ server: heard, agent: heard, pod: heard });
const TARGETS = { tcp: HTTP_PORT, udp: UDP_PORT, sctp: SCTP_PORT };
/** A list of Service ports with one entry. */
export const port = (more: object = {}, protocol: Protocol = 'tcp'): object => ({
  ports: [{ port: 80, protocol: protocol.toUpperCase(), targetPort: TARGETS[protocol], ...more }],
});
const onServer = { on: 'server' };
const nobody = { on: 'nobody' };

/** The rows of TCP and UDP. */
export const rows: readonly Row[] = [
  {
    name: 'tcp',
    spec: port(),
    asks: [
      [{ at: 'cluster', port: 80 }, everyone(BOTH)],
      [{ at: 'name', port: 80 }, everyone(BOTH)],
    ],
  },
  {
    // Unlike upstream's iptables mode, an unknown port is refused.
    name: 'wrong-port',
    spec: port(),
    modes: { iptables: 'refused at last' },
    asks: [[{ at: 'cluster', port: 81 }, everyone('refused')]],
  },
  {
    name: 'udp',
    protocol: 'udp',
    spec: port({}, 'udp'),
    asks: [
      [{ at: 'cluster', port: 80 }, everyone(BOTH)],
      [{ at: 'name', port: 80 }, { pod: BOTH }],
    ],
  },
  {
    name: 'several',
    spec: {
      ports: [
        { name: 'web', port: 80, targetPort: 'web' },
        { name: 'also-web', port: 8_080, targetPort: HTTP_PORT },
        { name: 'other', port: 80, protocol: 'UDP', targetPort: 'other' },
      ],
    },
    asks: [80, 8_080].map((number) => [{ at: 'cluster', port: number }, everyone(BOTH)] as const),
  },
  {
    name: 'chosen',
    spec: { clusterIP: '10.43.200.9', ...port() },
    asks: [[{ at: '10.43.200.9', port: 80 }, everyone(BOTH)]],
  },
  {
    name: 'unassigned',
    spec: port(),
    modes: { iptables: 'refused at last' },
    asks: [[{ at: '10.43.201.1', port: 80 }, everyone('refused')]],
  },
  {
    name: 'headless',
    spec: { clusterIP: 'None', ...port() },
    asks: [[{ at: 'name', port: HTTP_PORT }, { pod: 'one' }]],
  },
  {
    name: 'alias',
    spec: { type: 'ExternalName', externalName: 'tcp.default.svc.cluster.local' },
    asks: [[{ at: 'name', port: 80 }, { pod: BOTH }]],
  },
  {
    name: 'sticky',
    spec: { sessionAffinity: 'ClientIP', ...port() },
    asks: [[{ at: 'cluster', port: 80 }, everyone('one')]],
  },
  {
    name: 'sticky-udp',
    protocol: 'udp',
    spec: { type: 'NodePort', sessionAffinity: 'ClientIP', ...port({ nodePort: 30_005 }, 'udp') },
    asks: [
      [{ at: 'cluster', port: 80 }, everyone('one')],
      [{ at: 'server', port: 30_005 }, { outside: 'one' }],
    ],
  },
  {
    name: 'same-node',
    spec: { trafficDistribution: 'PreferSameNode', ...port() },
    asks: [
      [
        { at: 'cluster', port: 80 },
        { server: 'on-server', agent: 'on-agent', pod: 'on-server' },
      ],
    ],
  },
  {
    name: 'same-node-none',
    selector: onServer,
    spec: { trafficDistribution: 'PreferSameNode', ...port() },
    asks: [[{ at: 'cluster', port: 80 }, everyone('on-server')]],
  },
  {
    name: 'empty',
    modes: { iptables: 'refused at last' },
    selector: nobody,
    spec: { type: 'NodePort', ...port({ nodePort: 30_010 }) },
    asks: [
      [{ at: 'cluster', port: 80 }, everyone('refused')],
      [
        { at: 'server', port: 30_010 },
        { outside: 'refused', agent: 'refused' },
      ],
    ],
  },
  {
    name: 'internal-local',
    spec: { internalTrafficPolicy: 'Local', ...port() },
    asks: [
      [
        { at: 'cluster', port: 80 },
        { server: 'on-server', agent: 'on-agent', pod: 'on-server' },
      ],
    ],
  },
  {
    name: 'internal-local-none',
    selector: onServer,
    spec: { internalTrafficPolicy: 'Local', ...port() },
    asks: [
      [
        { at: 'cluster', port: 80 },
        { server: 'on-server', agent: 'silent' },
      ],
    ],
  },
  {
    name: 'node-port',
    spec: { type: 'NodePort', ...port({ nodePort: 30_001 }) },
    asks: [
      [{ at: 'cluster', port: 80 }, everyone(BOTH)],
      [
        { at: 'server', port: 30_001 },
        { ...everyone(BOTH), outside: BOTH },
      ],
      [
        { at: 'agent', port: 30_001 },
        { ...everyone(BOTH), outside: BOTH },
      ],
    ],
  },
  {
    name: 'node-port-udp',
    protocol: 'udp',
    spec: { type: 'NodePort', ...port({ nodePort: 30_002 }, 'udp') },
    asks: [
      [
        { at: 'server', port: 30_002 },
        { ...everyone(BOTH), outside: BOTH },
      ],
    ],
  },
  {
    name: 'external-local',
    spec: { type: 'NodePort', externalTrafficPolicy: 'Local', ...port({ nodePort: 30_003 }) },
    asks: [
      // Pods count as inside on every node; to another node their packets have the address of their own node.
      [
        { at: 'server', port: 30_003 },
        { outside: 'on-server', pod: BOTH },
      ],
      [
        { at: 'agent', port: 30_003 },
        { outside: 'on-agent', pod: 'on-agent' },
      ],
    ],
  },
  {
    name: 'external-local-none',
    selector: onServer,
    spec: { type: 'NodePort', externalTrafficPolicy: 'Local', ...port({ nodePort: 30_004 }) },
    asks: [
      [{ at: 'server', port: 30_004 }, { outside: 'on-server' }],
      [{ at: 'agent', port: 30_004 }, { outside: 'silent' }],
    ],
  },
  {
    name: 'balanced',
    spec: { type: 'LoadBalancer', ...port({ port: 8_001 }) },
    asks: [
      [
        { at: 'server', port: 8_001 },
        { outside: BOTH, pod: BOTH },
      ],
      [{ at: 'agent', port: 8_001 }, { outside: BOTH }],
    ],
  },
  {
    name: 'balanced-local',
    spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ...port({ port: 8_004 }) },
    asks: [
      [
        { at: 'server', port: 8_004 },
        { outside: 'on-server', pod: BOTH },
      ],
      [{ at: 'agent', port: 8_004 }, { outside: 'on-agent' }],
    ],
  },
  {
    name: 'balanced-without-node-port',
    spec: { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false, ...port({ port: 8_006 }) },
    asks: [
      [
        { at: 'server', port: 8_006 },
        { outside: BOTH, pod: BOTH },
      ],
    ],
  },
  {
    name: 'balanced-by-another',
    spec: { type: 'LoadBalancer', loadBalancerClass: 'example.com/other', ...port({ port: 8_005, nodePort: 30_006 }) },
    asks: [[{ at: 'server', port: 8_005 }, { outside: 'refused' }]],
  },
  {
    name: 'balanced-for-some',
    spec: { type: 'LoadBalancer', loadBalancerSourceRanges: ['198.51.100.0/24'], ...port({ port: 8_002 }) },
    asks: [[{ at: 'server', port: 8_002 }, { outside: 'silent' }]],
  },
  {
    // A host port of a pod, without a service.
    name: 'host-port',
    spec: port(),
    asks: [
      [
        { at: 'server', port: HOST_PORT },
        { ...everyone('on-server'), outside: 'on-server' },
      ],
    ],
  },
  {
    name: 'external-ip',
    spec: { externalIPs: ['198.51.100.7'], ...port({ port: 8_003 }) },
    asks: [[{ at: '198.51.100.7', port: 8_003 }, everyone(BOTH)]],
  },
];

/**
 * The rows of SCTP, where the kernel supports it. ICMP refusals do not reach SCTP clients. The userspace mode does not support
 * SCTP.
 */
export const sctpRows: readonly Row[] = [
  {
    name: 'sctp',
    protocol: 'sctp',
    spec: port({}, 'sctp'),
    modes: { userspace: 'unanswered' },
    asks: [
      [{ at: 'cluster', port: 80 }, everyone(BOTH)],
      [{ at: 'name', port: 80 }, { pod: BOTH }],
    ],
  },
  {
    name: 'node-port-sctp',
    protocol: 'sctp',
    spec: { type: 'NodePort', ...port({ nodePort: 30_007 }, 'sctp') },
    modes: { userspace: 'unanswered' },
    asks: [
      [
        { at: 'server', port: 30_007 },
        { ...everyone(BOTH), outside: BOTH },
      ],
    ],
  },
  {
    name: 'external-local-sctp',
    protocol: 'sctp',
    spec: { type: 'NodePort', externalTrafficPolicy: 'Local', ...port({ nodePort: 30_008 }, 'sctp') },
    modes: { userspace: 'unanswered' },
    asks: [
      [
        { at: 'server', port: 30_008 },
        { outside: 'on-server', pod: BOTH },
      ],
    ],
  },
  {
    name: 'empty-sctp',
    protocol: 'sctp',
    selector: nobody,
    spec: port({}, 'sctp'),
    asks: [[{ at: 'cluster', port: 80 }, everyone('unanswered')]],
  },
];
