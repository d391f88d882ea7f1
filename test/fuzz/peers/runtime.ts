// A container runtime on this machine whose containers are simulated; the socket, the log files and the streams are real.
import { inflateRaw } from '../../../src/platform/node/compression.ts';
import { criTable } from '../../../src/cri/gen/cri-table.ts';
import { createSimRuntime } from '../../../src/cri/sim/sim-runtime.ts';
import { createNodePlatform } from '../../../src/platform/node/node-platform.ts';
import { createListenHttp } from '../../../src/platform/node/http-server.ts';
import { createMemoryLog } from '../../../src/platform/sim/log.ts';
import type { HttpServer } from '../../../src/platform/http.ts';
import type { Method } from './steady-peers.ts';

export interface Runtime {
  /** By `package.Service/Method`. */
  readonly methods: Readonly<Record<string, Method>>;
  close(): void;
}

/** Pods have addresses of loopback, so that the kubelet's requests to them stay on this machine. */
export async function createRuntime(podAddresses: string): Promise<Runtime> {
  const platform = createNodePlatform({ startSpawner: false });
  const listenHttp = createListenHttp(createMemoryLog({ minLevel: 'error' })); // it logs requests of its own clients
  const servers: Promise<HttpServer>[] = [];
  const simulated = createSimRuntime(
    {
      ...platform,
      inflate: inflateRaw,
      listen(address, port, handler) {
        const server = listenHttp({ host: address, port }, handler);
        servers.push(server);
        return () => void server.then((one) => one.close(0));
      },
    },
    { podCidr: podAddresses, nodeAddress: podAddresses.replace(/\.0\/.*/, '.1') },
  );
  const methods: Record<string, Method> = {};
  for (const [service, implementation] of [
    ['RuntimeService', simulated.runtime],
    ['ImageService', simulated.images],
  ] as const)
    for (const [method, types] of Object.entries(criTable.services[service])) {
      if (types.includes(' stream ')) continue;
      const name = `${method.charAt(0).toLowerCase()}${method.slice(1)}`;
      const call = (implementation as unknown as Record<string, Method | undefined>)[name];
      if (call !== undefined) methods[`${criTable.package}.${service}/${method}`] = call;
    }
  methods[`${criTable.package}.RuntimeService/GetContainerEvents`] = async function* (_request, signal) {
    for await (const { containerId, type } of simulated.events(signal))
      yield { containerId, containerEventType: `CONTAINER_${type.toUpperCase()}_EVENT` };
  };
  return {
    methods,
    close() {
      for (const server of servers) void server.then((one) => one.close(0));
      platform.close();
    },
  };
}
