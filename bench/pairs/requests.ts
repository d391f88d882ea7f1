// Requests in alternating turns.
import { inParallel } from '../run/wait.ts';
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

/** Sends so many requests of a kind over all connections. */
export async function sendMany(server: Server, kind: Kind, count: number): Promise<void> {
  await inParallel({ count, width: CONNECTIONS }, () => kinds[kind].send(server));
}

/** Processor time of one request of each side, in turns. */
export async function compareRequests(servers: Sides<Server>, kind: Kind, rounds: number): Promise<Sides<number>[]> {
  const { count } = kinds[kind];
  for (const server of servers) await sendMany(server, kind, count * WARM_UP_TURNS);
  const turn = async (server: Server): Promise<number> => {
    const beforeUs = server.cpuUs();
    await sendMany(server, kind, count);
    return (server.cpuUs() - beforeUs) / count;
  };
  const pairs: Sides<number>[] = [];
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) pairs.push([await turn(servers[0]), await turn(servers[1])]);
    else {
      const second = await turn(servers[1]);
      pairs.push([await turn(servers[0]), second]);
    }
  }
  return pairs;
}
