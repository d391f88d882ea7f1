/**
 * The stages of endpoints that appear, terminate and vanish: two pods, `ending-server` and `ending-agent`, and the expected
 * answers of their services at each stage.
 */
import { everyone, port, type Row } from './rows.ts';

/** Selects the two pods. */
export const ENDING = { app: 'ending' };
/** The health check node port of their service. */
export const HEALTH_PORT = 30_025;

/** The expected answers: of all endpoints, of those on the server, and of those on the agent. */
interface Hearing {
  readonly anywhere: string;
  readonly onServer: string;
  readonly onAgent: string;
  /** The answer to a client with a constant source port: a terminating endpoint that still serves may keep its flows. */
  readonly flow: string;
}

/** One stage: the action, then the expected answers of the services and of the health check node ports of server and agent. */
export interface Stage extends Hearing {
  readonly name: string;
  readonly happens: readonly (readonly [what: 'appears' | 'is deleted' | 'fails its probe' | 'ends', pod: Who])[];
  readonly health: readonly [server: string, agent: string];
}

/** One of the two pods, by its node. */
export type Who = 'server' | 'agent';

const BOTH = 'ending-agent ending-server';
const NOBODY = 'refused at last';

/** In this order. */
export const stages: readonly Stage[] = [
  {
    name: 'there is nobody yet',
    happens: [],
    anywhere: NOBODY,
    onServer: NOBODY,
    onAgent: NOBODY,
    flow: NOBODY,
    health: ['503', '503'],
  },
  {
    name: 'both appear',
    happens: [
      ['appears', 'server'],
      ['appears', 'agent'],
    ],
    anywhere: BOTH,
    onServer: 'ending-server',
    onAgent: 'ending-agent',
    flow: 'one ending',
    health: ['200', '200'],
  },
  {
    name: 'one terminates: it is used where policy Local leaves no other',
    happens: [['is deleted', 'server']],
    anywhere: 'ending-agent',
    onServer: 'ending-server',
    onAgent: 'ending-agent',
    flow: 'one ending',
    health: ['503', '200'],
  },
  {
    name: 'both terminate: they are used for want of others',
    happens: [['is deleted', 'agent']],
    anywhere: BOTH,
    onServer: 'ending-server',
    onAgent: 'ending-agent',
    flow: 'one ending',
    health: ['503', '503'],
  },
  {
    name: 'one fails its probe meanwhile',
    happens: [['fails its probe', 'server']],
    anywhere: 'ending-agent',
    onServer: 'silent',
    onAgent: 'ending-agent',
    flow: 'ending-agent',
    health: ['503', '503'],
  },
  {
    name: 'that one vanishes',
    happens: [['ends', 'server']],
    anywhere: 'ending-agent',
    onServer: 'silent',
    onAgent: 'ending-agent',
    flow: 'ending-agent',
    health: ['503', '503'],
  },
  {
    name: 'the other vanishes while it serves',
    happens: [['ends', 'agent']],
    anywhere: NOBODY,
    onServer: NOBODY,
    onAgent: NOBODY,
    flow: NOBODY,
    health: ['503', '503'],
  },
];

/** The source port of the client with one socket: its tracked flow must not lead to a removed endpoint. */
const SOURCE_PORT = 20_700;

/** The services with their expected answers. */
export function endingRows({ anywhere, onServer, onAgent, flow }: Hearing): readonly Row[] {
  const atHome = { server: onServer, agent: onAgent, pod: onServer };
  return [
    ...(['tcp', 'udp'] as const).map((protocol, at) => ({
      name: `ending-${protocol}`,
      protocol,
      spec: { type: 'NodePort', ...port({ nodePort: 30_020 + at }, protocol) },
      asks: [
        [{ at: 'cluster', port: 80 }, everyone(anywhere)],
        [{ at: 'server', port: 30_020 + at }, { outside: anywhere }],
      ] as Row['asks'],
    })),
    ...(['tcp', 'udp'] as const).map((protocol, at) => ({
      name: `ending-${protocol}-home`,
      protocol,
      spec: {
        type: 'NodePort',
        internalTrafficPolicy: 'Local',
        externalTrafficPolicy: 'Local',
        ...port({ nodePort: 30_022 + at }, protocol),
      },
      asks: [
        [{ at: 'cluster', port: 80 }, atHome],
        [
          { at: 'server', port: 30_022 + at },
          { outside: onServer, pod: anywhere },
        ],
        [{ at: 'agent', port: 30_022 + at }, { outside: onAgent }],
      ] as Row['asks'],
    })),
    {
      name: 'ending-flow',
      protocol: 'udp',
      sourcePort: SOURCE_PORT,
      spec: { type: 'NodePort', ...port({ nodePort: 30_024 }, 'udp') },
      asks: [
        [{ at: 'cluster', port: 80 }, everyone(flow)],
        [{ at: 'server', port: 30_024 }, { outside: flow }],
      ],
    },
    {
      name: 'ending-health',
      spec: {
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: HEALTH_PORT,
        ...port({ port: 8_010, nodePort: 30_026 }),
      },
      asks: [],
    },
  ];
}
