// Sends requests in alternating turns.
import { inParallel, sleep } from '../run/wait.ts';
import { CONNECTIONS, type Server, type Sides } from './server.ts';

/** A kind of request. */
export type Kind = 'get' | 'post' | 'pod';

let names = 0;

const configMap = (): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `c-${names++}`, labels: { app: 'pairs' } },
    data: { payload: 'x'.repeat(1000) },
  });

/** No scheduler takes the pod, so only its creation is measured. */
const pod = (): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `p-${names++}`, labels: { app: 'pairs' } },
    spec: { schedulerName: 'nobody', containers: [{ name: 'main', image: 'image', ports: [{ containerPort: 80 }] }] },
  });

const NAMESPACE = '/api/v1/namespaces/default';

interface Requests {
  readonly what: string;
  /** The number of requests in a turn, some 40 ms of processor time. */
  readonly count: number;
  send(server: Server): Promise<void>;
}

/** The requests of each kind. */
export const kinds: Readonly<Record<Kind, Requests>> = {
  get: {
    what: 'GET of a config map, µs',
    count: 600,
    send: (server) => server.send('GET', `${NAMESPACE}/configmaps/kube-root-ca.crt`),
  },
  post: {
    what: 'POST of a config map, µs',
    count: 200,
    send: (server) => server.send('POST', `${NAMESPACE}/configmaps`, configMap()),
  },
  pod: { what: 'POST of a pod, µs', count: 100, send: (server) => server.send('POST', `${NAMESPACE}/pods`, pod()) },
};

const WARM_UP_TURNS = 15;
/** The history is written two seconds after the changes. */
const AFTERWARDS_MS = 3500;

/** Sends this many requests of a kind over all connections. */
export async function sendMany(server: Server, kind: Kind, count: number): Promise<void> {
  await inParallel({ count, width: CONNECTIONS }, () => kinds[kind].send(server));
}

/** The processor time of a pair of processes, in microseconds per request. */
export interface Spent {
  readonly turns: readonly Sides<number>[];
  /** Of all turns including the time between and after them, so that deferred work counts. */
  readonly whole: Sides<number>;
}

/** Processor time of one request of each side, in turns. Odd pairs of processes start with the second side. */
export async function compareRequests(
  servers: Sides<Server>,
  kind: Kind,
  { rounds, pair }: { readonly rounds: number; readonly pair: number },
): Promise<Spent> {
  const { count } = kinds[kind];
  const order = pair % 2 === 0 ? servers : servers.toReversed();
  for (const server of order) await sendMany(server, kind, count * WARM_UP_TURNS);
  await sleep(AFTERWARDS_MS);
  const before = [servers[0].cpuUs(), servers[1].cpuUs()] as const;
  const turn = async (server: Server): Promise<number> => {
    const beforeUs = server.cpuUs();
    await sendMany(server, kind, count);
    return (server.cpuUs() - beforeUs) / count;
  };
  const pairs: Sides<number>[] = [];
  for (let round = 0; round < rounds; round++) {
    if ((round + pair) % 2 === 0) pairs.push([await turn(servers[0]), await turn(servers[1])]);
    else {
      const second = await turn(servers[1]);
      pairs.push([await turn(servers[0]), second]);
    }
  }
  await sleep(AFTERWARDS_MS);
  const perRequest = (side: 0 | 1): number => (servers[side].cpuUs() - before[side]) / (count * rounds);
  return { turns: pairs, whole: [perRequest(0), perRequest(1)] };
}
