/**
 * Queries per second of cluster DNS over loopback UDP: `node bench/dns.ts [seconds]`. The server runs in a separate process with
 * 1,000 services. The client queries their names, names that do not exist, and headless services, with 64 queries in flight; then
 * again at a steady rate, the goal's, independent of the responses.
 */
import { fork } from 'node:child_process';
import { createSocket } from 'node:dgram';
import * as dnsPacket from 'dns-packet';
import { EndpointSlices, Services } from '../src/api/gen/resources.ts';
import { createInProcessClient } from '../src/client/in-process-transport.ts';
import { createFakeApi } from '../src/client/fake-api-fixture.ts';
import { createDns } from '../src/dns/dns.ts';
import { createNodePlatform } from '../src/platform/node/node-platform.ts';

const SERVICES = 1_000;
const IN_FLIGHT = 64;
const STEADY_RATE = 20_000;

async function serve(): Promise<void> {
  const platform = createNodePlatform({ log: { level: 'warn' }, startSpawner: false });
  const api = createFakeApi(() => '2026-01-01T00:00:00Z');
  for (let i = 0; i < SERVICES; i++) {
    const clusterIP = `10.43.${i >> 8}.${i & 255}`;
    api.seed(Services, {
      metadata: { namespace: 'default', name: `svc-${i}` },
      spec: { clusterIP, clusterIPs: [clusterIP], ports: [{ name: 'http', port: 80 }] },
    });
  }
  api.seed(Services, { metadata: { namespace: 'default', name: 'headless' }, spec: { clusterIP: 'None' } });
  api.seed(EndpointSlices, {
    metadata: { namespace: 'default', name: 'h', labels: { 'kubernetes.io/service-name': 'headless' } },
    addressType: 'IPv4',
    endpoints: Array.from({ length: 10 }, (_, i) => ({ addresses: [`10.42.0.${i + 2}`] })),
  });
  const client = createInProcessClient({
    handler: api.handler,
    clock: platform.clock,
    principal: { name: 'dns', groups: [] },
    userAgent: 'bench',
  });
  const dns = createDns(
    { client, platform },
    { listen: [{ address: '127.0.0.1', port: 0 }], domain: 'cluster.local', resolvConfPath: '/nonexistent' },
  );
  await dns.start();
  await dns.ready();
  process.send?.(dns.addresses()[0]?.port);
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send?.({ cpuSeconds: (user + system) / 1e6, rssMb: Math.round(process.memoryUsage.rss() / 1e6) });
  });
  process.on('disconnect', () => process.exit());
}

interface Asked {
  readonly rate: number;
  readonly p99Ms: number;
}

/** Queries for this many seconds: each after a response, or with `steadily` at a constant rate. */
async function measure(
  port: number,
  { names, seconds, steadily }: { names: readonly string[]; seconds: number; steadily: boolean },
): Promise<Asked> {
  const queries = names.map((name) =>
    dnsPacket.encode({
      type: 'query',
      id: 1,
      flags: 256,
      questions: [{ name, type: 'A', class: 'IN' }],
      additionals: [],
    }),
  );
  const socket = createSocket({ type: 'udp4', recvBufferSize: 4 << 20 });
  let next = 0;
  const times: number[] = [];
  const sentMs = new Float64Array(65_536);
  const send = (): void => {
    const id = next & 0xffff;
    const query = Buffer.from(queries[next++ % queries.length] as Buffer);
    query.writeUInt16BE(id);
    sentMs[id] = performance.now();
    socket.send(query, port, '127.0.0.1');
  };
  socket.on('message', (answer) => {
    times.push(performance.now() - (sentMs[answer.readUInt16BE()] ?? 0));
    if (!steadily) send();
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  const startMs = performance.now();
  if (!steadily) for (let i = 0; i < IN_FLIGHT; i++) send();
  const ticker = steadily
    ? setInterval(() => {
        const due = Math.min(((performance.now() - startMs) / 1000) * STEADY_RATE, seconds * STEADY_RATE);
        while (next < due) send();
      }, 1)
    : undefined;
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  clearInterval(ticker);
  const rate = times.length / ((performance.now() - startMs) / 1000);
  socket.close();
  return { rate, p99Ms: times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0 };
}

async function main(): Promise<void> {
  const seconds = Number(process.argv[2] ?? 3);
  const server = fork(import.meta.filename, ['serve'], { stdio: 'inherit' });
  const port = await new Promise<number>((resolve) => server.once('message', (message) => resolve(message as number)));
  const existing = Array.from({ length: SERVICES }, (_, i) => `svc-${i}.default.svc.cluster.local`);
  const rows: readonly [string, readonly string[], steadily?: boolean][] = [
    ['services', existing],
    ['services, steadily', existing, true],
    ['through the search list', existing.map((name) => `${name}.default.svc.cluster.local`)],
    ['headless, 10 endpoints', ['headless.default.svc.cluster.local']],
    ['no two alike', Array.from({ length: 200_000 }, (_, i) => `x${i}.default.svc.cluster.local`)],
  ];
  const usage = (): Promise<{ cpuSeconds: number; rssMb: number }> => {
    server.send('usage');
    return new Promise((resolve) =>
      server.once('message', (message) => resolve(message as { cpuSeconds: number; rssMb: number })),
    );
  };
  for (const [what, names, steadily = false] of rows) {
    const before = await usage();
    const { rate, p99Ms } = await measure(port, { names, seconds, steadily });
    const after = await usage();
    const perQuery = ((after.cpuSeconds - before.cpuSeconds) * 1e6) / (rate * seconds);
    console.log(
      `${what.padEnd(26)} ${Math.round(rate).toString().padStart(7)}/s  p99 ${p99Ms.toFixed(1)} ms  server ${perQuery.toFixed(1)} µs of CPU per query, ${after.rssMb} MB`,
    );
  }
  server.disconnect();
}

await (process.argv[2] === 'serve' ? serve() : main());
