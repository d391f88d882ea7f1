/** gRPC of a simulated machine: to servers of the test behind ports of pods, and to the machine's own sockets. */
import { createGrpcConnector, type GrpcConnector } from '../grpc/grpc-connector.ts';
import { GrpcError } from '../grpc/grpc-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { SimNetwork } from '../platform/sim/net.ts';

/** A connector from `http://host:port` to the server behind that port; other addresses go to `sockets`. */
export function connectPods(network: SimNetwork, clock: Clock, sockets: GrpcConnector): GrpcConnector {
  const connectReal = createGrpcConnector(clock);
  return (target, tables, headers) => {
    if (!target.startsWith('http://')) return sockets(target, tables, headers);
    const listener = network.listeners.get(target.slice('http://'.length));
    if (listener === undefined || !('server' in listener)) return sockets(target, tables, headers);
    const caller = connectReal(`http://127.0.0.1:${listener.server.port()}`, tables, headers);
    return {
      ...caller,
      async unary(method, request, options) {
        const release = clock.holdBusy(`gRPC to ${target}`);
        try {
          return await caller.unary(method, request, options);
        } catch (error) {
          throw error instanceof GrpcError ? error : new GrpcError('Unavailable', String(error), { sent: false });
        } finally {
          release();
        }
      },
    };
  };
}
