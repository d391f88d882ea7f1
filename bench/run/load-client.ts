// The API load, in a separate process so that client and server do not share an event loop:
//
//   node bench/run/load-client.ts KUBECONFIG api|watch|fill|list|gzip|probe MILLISECONDS|COUNT
// Prints one JSON object of figures. `fill` creates this many objects, `list` reads them all with four clients, `gzip`
// compressed, `probe` reads one of them continuously and reports the durations. 16 keep-alive HTTPS connections, objects of 1 KB,
// as in docs/performance.md.
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';

import { parse } from 'yaml';

import { inParallel, sleep } from './wait.ts';

const [kubeconfig = '', scenario = 'api', budget = '1000'] = process.argv.slice(2);
const budgetMs = Number(budget);
const NAMESPACE = 'bench-api';
const COLLECTION = `/api/v1/namespaces/${NAMESPACE}/configmaps`;

interface Kubeconfig {
  readonly clusters: readonly { cluster: { server: string; 'certificate-authority-data': string } }[];
  readonly users: readonly { user: { 'client-certificate-data': string; 'client-key-data': string } }[];
}

const config = parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig;
const user = config.users[0]?.user;
const cluster = config.clusters[0]?.cluster;
if (user === undefined || cluster === undefined) throw new Error(`${kubeconfig} names no cluster or no user`);
const { server } = cluster;
const tls = {
  ca: Buffer.from(cluster['certificate-authority-data'], 'base64'),
  cert: Buffer.from(user['client-certificate-data'], 'base64'),
  key: Buffer.from(user['client-key-data'], 'base64'),
};
const agent = new Agent({ keepAlive: true, maxSockets: 16, ...tls });

interface Call {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly type?: string;
  /** Accepts a compressed response, without unpacking it. */
  readonly gzip?: boolean;
}

/** Sends one request; resolves to the length of the response. @throws when it is refused */
function send({ method, path, body, type = 'application/json', gzip = false }: Call): Promise<number> {
  const data = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  const headers = {
    accept: 'application/json',
    ...(gzip && { 'accept-encoding': 'gzip' }),
    ...(data && { 'content-type': type, 'content-length': data.length }),
  };
  return new Promise((resolve, reject) => {
    const call = request(new URL(path, server), { method, agent, headers }, (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => (bytes += chunk.length)).on('error', reject);
      response.on('end', () => {
        if ((response.statusCode ?? 500) < 300) resolve(bytes);
        else reject(new Error(`${method} ${path} was answered ${response.statusCode}`));
      });
    });
    call.on('error', reject).end(data);
  });
}

const configMap = (name: string, letter: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels: { app: 'bench' } },
  data: { payload: letter.repeat(1000) },
});

/** Runs for the budget, or until `most` are done; resolves to a rate per second. */
async function rate(
  width: number,
  most: number,
  work: (index: number) => Promise<unknown>,
): Promise<{ count: number; perSecond: number }> {
  let next = 0;
  const startedMs = performance.now();
  const worker = async (): Promise<void> => {
    while (next < most && performance.now() - startedMs < budgetMs) await work(next++);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return { count: next, perSecond: Math.round((next / (performance.now() - startedMs)) * 1000) };
}

async function api(): Promise<Record<string, number>> {
  const created = await rate(16, 20_000, (i) =>
    send({ method: 'POST', path: COLLECTION, body: configMap(`o-${i}`, 'x') }),
  );
  const { count } = created;
  const object = (i: number): string => `${COLLECTION}/o-${i % count}`;
  const get = await rate(16, 1e6, (i) => send({ method: 'GET', path: object(i) }));
  const update = await rate(16, 1e6, (i) =>
    send({ method: 'PUT', path: object(i), body: configMap(`o-${i % count}`, i % 2 ? 'y' : 'z') }),
  );
  const patch = await rate(16, 1e6, (i) =>
    send({ method: 'PATCH', path: object(i), body: { data: { k: String(i) } }, type: 'application/merge-patch+json' }),
  );
  const removed = await rate(16, Math.max(0, count - 2000), (i) => send({ method: 'DELETE', path: object(i) }));
  const rest = Math.min(count, 2000);
  const listed = await rate(4, 400, () => send({ method: 'GET', path: COLLECTION }));
  await inParallel(
    { count: rest, width: 16 },
    async (i) => void (await send({ method: 'DELETE', path: object(count - rest + i) })),
  );
  return {
    create: created.perSecond,
    get: get.perSecond,
    update: update.perSecond,
    patch: patch.perSecond,
    ...(removed.count === 0 ? {} : { delete: removed.perSecond }),
    listObjects: rest,
    list: listed.perSecond,
  };
}

/** Opens a watch that counts lines and parses none: the server is measured, not this client. */
function openWatch(onLines: (count: number) => void): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const call = request(new URL(`${COLLECTION}?watch=true`, server), { agent: new Agent(tls) }, (response) => {
      resolve(() => call.destroy());
      response
        .on('error', () => undefined)
        .on('data', (chunk: Buffer) => {
          let lines = 0;
          for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
          if (lines > 0) onLines(lines);
        });
    });
    call.on('error', reject).end();
  });
}

async function watch(): Promise<Record<string, number>> {
  const watchers = 400;
  await send({ method: 'POST', path: COLLECTION, body: configMap('watched', 'x') });
  let delivered = 0;
  const stops = await Promise.all(Array.from({ length: watchers }, () => openWatch((lines) => (delivered += lines))));
  await sleep(300);
  delivered = 0;
  const startedMs = performance.now();
  const { count } = await rate(4, 1e6, (i) =>
    send({
      method: 'PATCH',
      path: `${COLLECTION}/watched`,
      body: { data: { k: String(i) } },
      type: 'application/merge-patch+json',
    }),
  );
  while (delivered < count * watchers && performance.now() - startedMs < budgetMs + 5000) await sleep(2);
  const seconds = (performance.now() - startedMs) / 1000;
  for (const stop of stops) stop();
  await send({ method: 'DELETE', path: `${COLLECTION}/watched` });
  return { watchers, events: Math.round(delivered / seconds) };
}

async function fill(): Promise<Record<string, number>> {
  const count = budgetMs;
  await inParallel({ count, width: 32 }, async (i) => {
    await send({ method: 'POST', path: COLLECTION, body: configMap(`of-${count}-${i}`, 'x') });
  });
  return { count };
}

async function list(gzip: boolean): Promise<Record<string, number>> {
  let bytes = 0;
  const startedMs = performance.now();
  const { count } = await rate(4, 1e6, async () => {
    bytes += await send({ method: 'GET', path: COLLECTION, gzip });
  });
  const elapsedMs = performance.now() - startedMs;
  return { perSecond: (count / elapsedMs) * 1000, megabytes: bytes / 1e3 / elapsedMs };
}

async function probe(): Promise<Record<string, number>> {
  const timesMs: number[] = [];
  const endMs = performance.now() + budgetMs;
  while (performance.now() < endMs) {
    const startedMs = performance.now();
    await send({ method: 'GET', path: `${COLLECTION}/of-10000-1` });
    timesMs.push(performance.now() - startedMs);
    await sleep(2);
  }
  timesMs.sort((a, b) => a - b);
  const at = (share: number): number => timesMs[Math.floor(timesMs.length * share)] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}

const scenarios: Readonly<Record<string, () => Promise<Record<string, number>>>> = {
  api,
  watch,
  fill,
  list: () => list(false),
  gzip: () => list(true),
  probe,
};
const chosen = scenarios[scenario];
if (chosen === undefined) throw new Error(`no scenario ${scenario}`);
await send({
  method: 'POST',
  path: '/api/v1/namespaces',
  body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
}).catch(() => 0);
console.log(JSON.stringify(await chosen()));
agent.destroy();
