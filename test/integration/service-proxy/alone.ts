/**
 * A service proxy as a separate program, so that each mode works inside the network namespace in which it starts: the userspace
 * mode opens ports there. Its API is in this process, filled from the first argument. Each line of standard input replaces the
 * addresses of its node; after SIGTERM it removes its rules and ends.
 */
import { createInterface } from 'node:readline';
import { EndpointSlices, Nodes, Pods, Services } from '../../../src/api/gen/resources.ts';
import type { Node, Pod, Service } from '../../../src/api/gen/core-v1.ts';
import type { EndpointSlice } from '../../../src/api/gen/discovery-v1.ts';
import { createInProcessClient } from '../../../src/client/in-process-transport.ts';
import { createInformerFactory } from '../../../src/client/informer-factory.ts';
import { createFakeApi } from '../../../src/client/fake-api-fixture.ts';
import { createNodePlatform } from '../../../src/platform/node/node-platform.ts';
import type { ServiceProxyConfig } from '../../../src/proxy/proxy-config.ts';
import { createServiceProxy } from '../../../src/proxy/service-proxy.ts';

/** The first argument: the objects to serve, and the mode. */
export interface ProxyAlone {
  readonly config: ServiceProxyConfig;
  readonly nodeAddresses: readonly string[];
  readonly services: readonly Service[];
  readonly slices: readonly EndpointSlice[];
  readonly pods: readonly Pod[];
}

const { config, nodeAddresses, services, slices, pods } = JSON.parse(process.argv[2] ?? '') as ProxyAlone;
const platform = createNodePlatform({ log: { level: 'warn' } });
const api = createFakeApi(() => '2026-01-01T00:00:00Z');
const nodeOf = (addresses: readonly string[]): Node => ({
  metadata: { name: config.nodeName },
  status: { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) },
});
api.seed(Nodes, nodeOf(nodeAddresses));
for (const service of services) api.seed(Services, service);
for (const slice of slices) api.seed(EndpointSlices, slice);
for (const pod of pods) api.seed(Pods, pod);
const client = createInProcessClient({
  handler: api.handler,
  clock: platform.clock,
  principal: { name: 'p', groups: [] },
  userAgent: 'test',
});
const informers = createInformerFactory({ ...platform, client });
const proxy = createServiceProxy({ informers, platform }, config);
const life = new AbortController();
createInterface(process.stdin).on('line', (line) =>
  api.modify<Node>(Nodes, config.nodeName, (node) => ({ ...node, status: { ...nodeOf(line.split(' ')).status } })),
);
process.once('SIGTERM', () => life.abort());
informers.start(life.signal);
const running = proxy.start(life.signal);
await proxy.synced();
console.log('synced');
await running;
await proxy.remove();
platform.close();
process.exit();
