// The peers that a kubelet always has here: a container runtime, a device plugin and a CSI driver. They respond correctly unless
// an exchange has set their next responses.
import { join } from 'node:path';
import type { ServerHttp2Stream } from 'node:http2';
import { frame } from '../../../src/grpc/grpc-frames.ts';
import { GRPC_CODES, isGrpcCode } from '../../../src/grpc/grpc-error.ts';
import { createMessageCodec } from '../../../src/grpc/message-codec.ts';
import type { ProtobufTable } from '../../../src/grpc/protobuf-table.ts';
import { criTable } from '../../../src/cri/gen/cri-table.ts';
import { type PeerAnswer, textOf } from '../exchange.ts';
import { servePeer, type PeerServer, perform } from '../transports/peer-server.ts';
import { csiMethods, csiTables, deviceMethods, deviceTables, registrarMethods } from './right-answers.ts';
import { createRuntime } from './runtime.ts';

/** A method by its correct response. */
export type Method = (request: never, signal: AbortSignal) => object | Promise<object> | AsyncIterable<object>;

export interface Peers {
  /** The runtime's socket. */
  readonly runtimeSocket: string;
  /** Sets the response to the method's next call. */
  hostile(method: string, answer: PeerAnswer): void;
  /** Restores correct responses of all methods. */
  behave(): void;
  /** Creates the plugins' sockets again, because a starting kubelet removes them. */
  servePlugins(kubeletRoot: string): Promise<void>;
  close(): void;
}

/** The number of responses kept for a method; older ones are dropped. */
const MAX_WAITING = 4;

export async function startPeers(folder: string, podAddresses: string): Promise<Peers> {
  const waiting = new Map<string, PeerAnswer[]>();
  const servers: PeerServer[] = [];
  const plugins: PeerServer[] = [];
  const serve = async (path: string, tables: readonly ProtobufTable[], methods: Readonly<Record<string, Method>>) => {
    const answer = answering(tables, methods);
    return servePeer(path, (method, stream) => {
      const hostile = waiting.get(method)?.shift();
      if (hostile !== undefined) return hostile;
      if (!Object.hasOwn(methods, method)) return undefined;
      answer(method, stream);
      return 'taken';
    });
  };
  const runtimeSocket = join(folder, 'runtime.sock');
  const runtime = await createRuntime(podAddresses);
  servers.push(await serve(runtimeSocket, [criTable], runtime.methods));
  return {
    runtimeSocket,
    hostile(method, answer) {
      const answers = waiting.get(method) ?? [];
      waiting.set(method, [...answers, answer].slice(-MAX_WAITING));
    },
    behave: () => waiting.clear(),
    async servePlugins(root) {
      for (const plugin of plugins.splice(0)) plugin.close();
      const device = join(root, 'plugins_registry/steady-device.sock');
      const csi = join(root, 'plugins_registry/steady-csi.sock');
      const names = {
        device: ['DevicePlugin', 'steady.example/device', 'v1beta1'],
        csi: ['CSIPlugin', 'steady.example', '1.0.0'],
      };
      plugins.push(await serve(device, deviceTables, { ...registrarMethods(names.device), ...deviceMethods }));
      plugins.push(await serve(csi, csiTables, { ...registrarMethods(names.csi), ...csiMethods }));
    },
    close() {
      for (const server of [...plugins, ...servers]) server.close();
      runtime.close();
    },
  };
}

/** Reads the request, calls the method and writes its response. */
function answering(tables: readonly ProtobufTable[], methods: Readonly<Record<string, Method>>) {
  const codec = createMessageCodec(tables);
  const types = new Map<string, readonly [input: string, output: string]>(
    tables.flatMap((table) =>
      Object.entries(table.services).flatMap(([service, all]) =>
        Object.entries(all).map(([method, text]) => {
          const [input = '', output = ''] = text.replace('stream ', '').split(' ');
          return [
            `${table.package}.${service}/${method}`,
            [`${table.package}.${input}`, `${table.package}.${output}`],
          ] as const;
        }),
      ),
    ),
  );
  return (method: string, stream: ServerHttp2Stream): void => {
    const chunks: Buffer[] = [];
    const [input, output] = types.get(method)!;
    const life = new AbortController();
    const encode = (message: object): string => textOf(frame(codec.encode(output!, message)));
    const respond = async (): Promise<PeerAnswer | undefined> => {
      try {
        const request = codec.decode(input!, Buffer.concat(chunks).subarray(5));
        const answer = methods[method]!(request as never, life.signal);
        if (Symbol.asyncIterator in answer) return await writeAll(stream, answer, encode);
        return { how: 'answer', data: encode(await answer), trailers: [['grpc-status', '0']] };
      } catch (error) {
        if (life.signal.aborted) return undefined;
        if (!isGrpcCode(error, ...GRPC_CODES)) throw error;
        const status = String(GRPC_CODES.indexOf(error.code));
        const trailers = [
          ['grpc-status', status] as const,
          ['grpc-message', encodeURIComponent(error.detail)] as const,
        ];
        return { how: 'answer', data: '', trailers };
      }
    };
    stream.on('close', () => life.abort());
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', async () => {
      const answer = await respond();
      if (answer !== undefined && !stream.destroyed) perform(stream, answer);
    });
  };
}

/** An endless stream of messages, which ends only with the caller or the peer. */
async function writeAll(
  stream: ServerHttp2Stream,
  messages: AsyncIterable<object>,
  encode: (message: object) => string,
): Promise<undefined> {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
  for await (const message of messages) {
    if (stream.destroyed) return;
    stream.write(Buffer.from(encode(message), 'latin1'));
  }
}
