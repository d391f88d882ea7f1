/**
 * Service rules in a real kernel: `node bench/proxy-rules.ts [services] [endpoints] [mode]`, as root. Measures, in a separate
 * network namespace, the time of the first sync, of the periodic full sync, and from an endpoint's change in the API to its rule.
 */
import { spawnSync } from 'node:child_process';
import { EndpointSlices, Services } from '../src/api/gen/resources.ts';
import type { EndpointSlice } from '../src/api/gen/discovery-v1.ts';
import { createInProcessClient } from '../src/client/in-process-transport.ts';
import { createInformerFactory } from '../src/client/informer-factory.ts';
import { createFakeApi } from '../src/client/fake-api-fixture.ts';
import type { Exec } from '../src/platform/exec.ts';
import { createNodePlatform } from '../src/platform/node/node-platform.ts';
import { createServiceProxy } from '../src/proxy/service-proxy.ts';

const [services, endpoints] = [Number(process.argv[2] ?? 5_000), Number(process.argv[3] ?? 2)];
const mode = process.argv[4] === 'iptables' ? 'iptables' : 'nftables';
// In iptables mode a change writes every rule again.
const changes = Math.min(mode === 'iptables' ? 5 : 50, services);
const namespace = `keelson-bench-${process.pid}`;

function sliceOf(i: number, shift: number): EndpointSlice {
  const addresses = Array.from({ length: endpoints }, (_, n) => {
    const number = i * endpoints + n + shift;
    return `10.${64 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
  });
  return {
    metadata: { namespace: 'default', name: `svc-${i}-x`, labels: { 'kubernetes.io/service-name': `svc-${i}` } },
    addressType: 'IPv4',
    ports: [{ port: 8080, protocol: 'TCP' }],
    endpoints: addresses.map((a) => ({ addresses: [a] })),
  };
}

const quantile = (times: readonly number[], q: number): string =>
  `${(times.toSorted((a, b) => a - b)[Math.floor(times.length * q)] ?? 0).toFixed(1)} ms`;

async function main(): Promise<void> {
  const platform = createNodePlatform({ log: { level: 'warn' } });
  const { clock } = platform;
  const api = createFakeApi(() => '2026-01-01T00:00:00Z');
  for (let i = 0; i < services; i++) {
    const clusterIP = `10.43.${i >> 8}.${i & 255}`;
    api.seed(Services, {
      metadata: { namespace: 'default', name: `svc-${i}` },
      spec: { type: 'ClusterIP', clusterIP, clusterIPs: [clusterIP], ports: [{ port: 80, protocol: 'TCP' }] },
    });
    api.seed(EndpointSlices, sliceOf(i, 0));
  }
  const client = createInProcessClient({
    handler: api.handler,
    clock,
    principal: { name: 'b', groups: [] },
    userAgent: 'bench',
  });
  const informers = createInformerFactory({ client, clock, random: platform.random, log: platform.log });
  const ended: number[] = [];
  const exec: Exec = {
    ...platform.exec,
    async run(file, args, options) {
      const startMs = performance.now();
      const result = await platform.exec.run(file, args, options);
      if (args.some((arg) => arg === 'iptables-save')) return result; // reads only
      ended.push(performance.now());
      nftMs = performance.now() - startMs;
      return result;
    },
  };
  let nftMs = 0;
  const proxy = createServiceProxy(
    { informers, platform: { ...platform, exec } },
    {
      nodeName: 'bench',
      nftTable: 'keelson-bench',
      clusterCidr: '10.64.0.0/10',
      serviceCidr: '10.43.0.0/16',
      masqueradeMark: 0x4001_0000,
      mode,
      commandPrefix: ['ip', 'netns', 'exec', namespace],
    },
  );
  const stop = new AbortController();
  informers.start(stop.signal);
  await informers.waitForSync();
  await platform.exec.run('true', []); // starts the spawner
  await clock.sleep(200);
  const startMs = performance.now();
  const running = proxy.start(stop.signal);
  await proxy.synced();
  console.log(
    `first sync of ${services} services × ${endpoints} endpoints: ${(performance.now() - startMs).toFixed(0)} ms, of which the tool ${nftMs.toFixed(0)} ms`,
  );
  const times: number[] = [];
  const nftTimes: number[] = [];
  for (let i = 0; i < changes; i++) {
    await clock.sleep(30);
    ended.length = 0;
    const changedMs = performance.now();
    api.modify<EndpointSlice>(EndpointSlices, `default/svc-${i}-x`, (old) => ({
      ...sliceOf(i, 100_000),
      metadata: old.metadata,
    }));
    while (ended.length === 0) await clock.sleep(1);
    times.push((ended[0] as number) - changedMs);
    nftTimes.push(nftMs);
  }
  console.log(
    `endpoint change → rule in the kernel: median ${quantile(times, 0.5)}, 95 % ${quantile(times, 0.95)}; of which the tool ${quantile(nftTimes, 0.5)}`,
  );
  stop.abort();
  await running;
  platform.close();
}

spawnSync('ip', ['netns', 'add', namespace], { stdio: 'inherit' });
// Timers of the clock port keep no process alive.
const alive = setInterval(() => undefined, 1000);
try {
  await main();
} finally {
  clearInterval(alive);
  spawnSync('ip', ['netns', 'del', namespace], { stdio: 'inherit' });
}
