/** The container runtime of a simulated machine, and the load of its containers. */
import { createSimRuntime, type SimRuntime } from '../cri/sim/sim-runtime.ts';
import type { Clock } from '../platform/clock.ts';
import { inflateRaw } from '../platform/node/compression.ts';
import type { SimHost } from '../platform/sim/host.ts';
import { serveHttpOnDuplex } from '../platform/sim/http-on-duplex.ts';
import type { SimPlatform } from '../platform/sim/sim-platform.ts';
import type { SimNodeDeps } from './sim-node-spec.ts';

export function createNodeRuntime(
  platform: SimPlatform<Clock>,
  deps: Pick<SimNodeDeps, 'address' | 'images' | 'podCidr' | 'realNet' | 'unknownImages'>,
): SimRuntime {
  const { clock, files, random, network, crypto, texts } = platform;
  return createSimRuntime(
    {
      clock,
      files,
      random,
      crypto,
      inflate: inflateRaw,
      texts,
      serveHttp: (handler, socket) =>
        serveHttpOnDuplex(handler, socket, { remoteAddress: '127.0.0.1', peerCertificate: undefined }),
      listen(address, port, http) {
        network.listeners.set(`${address}:${port}`, { http });
        return () => void network.listeners.delete(`${address}:${port}`);
      },
      listenServer(address, port, serverPort) {
        network.listeners.set(`${address}:${port}`, { server: { net: deps.realNet, port: serverPort } });
        return () => void network.listeners.delete(`${address}:${port}`);
      },
      dialServer: (port) => deps.realNet.dial({ host: '127.0.0.1', port }),
    },
    {
      images: deps.images(),
      unknownImages: deps.unknownImages,
      ...(deps.podCidr === undefined ? { networkReady: 'with-range' as const } : { podCidr: deps.podCidr }),
      nodeAddress: deps.address,
      lean: true,
    },
  );
}

/** Sets the machine's load to that of its containers and a twentieth of a core of its own. */
export function loadHost(host: SimHost, clock: Pick<Clock, 'monotonicMs'>, runtime: SimRuntime): void {
  let [atMs, cpuUsageNs] = [clock.monotonicMs(), 0];
  host.load = () => {
    let [nanoCores, memoryBytes] = [5e7, 0];
    for (const container of runtime.containers.values()) {
      if (container.state !== 'CONTAINER_RUNNING') continue;
      const usage = container.usage();
      nanoCores += usage.nanoCores;
      memoryBytes += usage.memoryBytes;
    }
    const nowMs = clock.monotonicMs();
    cpuUsageNs += (nanoCores * (nowMs - atMs)) / 1000;
    atMs = nowMs;
    return { memoryBytes, cpuUsageNs: Math.round(cpuUsageNs) };
  };
}
