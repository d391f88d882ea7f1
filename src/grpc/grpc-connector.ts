/**
 * Connects to servers that start and stop, such as a node's plugins and pods. gRPC is loaded at the first call, so
 * that a process without calls does not load it.
 */
import type { Clock } from '../platform/clock.ts';
import type { GrpcCaller } from './grpc-caller.ts';
import { GrpcError } from './grpc-error.ts';
import type { GrpcTarget } from './grpc-target.ts';
import type { ProtobufTable } from './protobuf-table.ts';

/**
 * Creates a caller of the services in `tables`. `target` is the path of a unix socket, or `http://host:port` for TCP
 * without TLS. Connects at the first call.
 */
export type GrpcConnector = (
  target: string,
  tables: readonly ProtobufTable[],
  headers?: Readonly<Record<string, string>>,
) => GrpcCaller;

/** The limit of gRPC for Go, which upstream's kubelet uses towards plugins. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
/** A device with two NUMA nodes has twelve values. */
const MAX_MESSAGE_VALUES = 400_000;

/** The connector of this machine's sockets and network. */
export function createGrpcConnector(clock: Clock): GrpcConnector {
  return (text, tables, headers = {}) => {
    const target: GrpcTarget = text.startsWith('/') ? { socketPath: text } : { url: text };
    let loaded: GrpcCaller | undefined;
    let disconnections = 0;
    const load = async (): Promise<GrpcCaller> => {
      if (loaded !== undefined) return loaded;
      const before = disconnections;
      const { createGrpcCaller } = await import('./grpc-caller.ts');
      if (disconnections > before) throw new GrpcError('Unavailable', 'disconnected before the call', { sent: false });
      return (loaded ??= createGrpcCaller(
        { clock },
        { target, tables, headers, maxMessageBytes: MAX_MESSAGE_BYTES, maxMessageValues: MAX_MESSAGE_VALUES },
      ));
    };
    return {
      unary: async (method, request, options) => (await load()).unary(method, request, options),
      async *stream(method, requests, options) {
        yield* (await load()).stream(method, requests, options);
      },
      disconnect() {
        disconnections++;
        loaded?.disconnect();
      },
    };
  };
}
