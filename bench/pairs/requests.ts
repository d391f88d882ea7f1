// Requests in alternating turns.
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

/** No scheduler takes it: what happens to it later is not measured. */
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
  /** In a turn: some 40 ms of processor time. */
  readonly count: number;
  send(server: Server): Promise<void>;
}

/** What is sent. */
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

/** Sends so many requests of a kind over all connections. */
export async function sendMany(server: Server, kind: Kind, count: number): Promise<void> {
  await inParallel({ count, width: CONNECTIONS }, () => kinds[kind].send(server));
}

/** What a pair of processes spent on requests, in microseconds each. */
export interface Spent {
  readonly turns: readonly Sides<number>[];
  /** All turns, and what the servers did between and after them: what is put off to another moment is in it. */
  readonly whole: Sides<number>;
}

/** Processor time of one request of each side, in turns. Odd pairs of processes begin with the second side. */
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
