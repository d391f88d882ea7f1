// gRPC: calls of a kubelet's sockets, plugins that register, and responses of the peers that it calls.
import { criTable } from '../../../src/cri/gen/cri-table.ts';
import { frame } from '../../../src/grpc/grpc-frames.ts';
import type { ProtobufTable } from '../../../src/grpc/protobuf-table.ts';
import { devicePluginTable } from '../../../src/kubelet/device-manager/device-plugin-api.ts';
import { draTable } from '../../../src/kubelet/dra-manager/dra-api.ts';
import { registrationTable } from '../../../src/kubelet/plugin-manager/registration-client.ts';
import { podResourcesTable } from '../../../src/kubelet/pod-resources/pod-resources-api.ts';
import { CSI_TABLE } from '../../../src/kubelet/volumes/csi/csi-table.ts';
import { chance, pick, type Random, weighted } from '../draw.ts';
import {
  type Bytes,
  folded,
  type GrpcExchange,
  type HttpExchange,
  type PeerAnswer,
  type PeersExchange,
  type PluginExchange,
  type RawExchange,
  SOCKET_NAME,
  textOf,
} from '../exchange.ts';
import { podOf } from '../targets/kubelet-checks.ts';
import { hostileStrings } from '../values/hostile.ts';
import { mutateProtobuf, varint } from '../values/mutate-protobuf.ts';
import { tableMessage } from '../values/table-message.ts';
import { h2Exchange } from './h2-frames.ts';
import { kubeletRequest } from './kubelet-requests.ts';

interface Method {
  readonly path: string;
  readonly table: ProtobufTable;
  readonly input: string;
  readonly output: string;
}

const methodsOf = (table: ProtobufTable): Method[] =>
  Object.entries(table.services).flatMap(([service, methods]) =>
    Object.entries(methods).map(([method, text]) => {
      const [input = '', output = ''] = text.replace('stream ', '').split(' ');
      return { path: `${table.package}.${service}/${method}`, table, input, output };
    }),
  );

/** A message's bytes: by its type, mutated as protobuf, or random. */
function message(random: Random, table: ProtobufTable, type: string): Buffer {
  const own = tableMessage(random, table, type);
  return weighted<() => Buffer>(random, [
    [6, () => own],
    [4, () => mutateProtobuf(random, own)],
    [1, () => Buffer.from(random.bytes(random.int(60)))],
    [1, () => Buffer.alloc(0)],
  ])();
}

/** A message in its frame; sometimes the frame's flag or length is wrong. */
function framed(random: Random, bytes: Buffer): Buffer {
  const whole = Buffer.from(frame(bytes));
  if (chance(random, 0.05)) whole[0] = pick(random, [1, 2, 255]);
  if (chance(random, 0.06))
    whole.writeUInt32BE(pick(random, [0, 1, bytes.length + 1, 0x400000, 0x7fffffff, 0xffffffff]), 1);
  return chance(random, 0.04) ? whole.subarray(0, random.int(whole.length)) : whole;
}

const socketMethods: Readonly<Record<string, readonly Method[]>> = {
  devices: methodsOf(devicePluginTable),
  'pod-resources': methodsOf(podResourcesTable),
};

const grpcHeaders: readonly (readonly [string, string])[] = [
  ['te', 'trailers'],
  ['grpc-timeout', '1n'],
  ['grpc-timeout', '99999999999H'],
  ['grpc-timeout', 'x'],
  ['grpc-encoding', 'gzip'],
  ['grpc-accept-encoding', 'x'],
  ['content-length', '5'],
  ['a-bin', '!!!'],
  ['user-agent', 'a'.repeat(9000)],
  ['x-a', 'é'],
];

/** Larger than gRPC's limit of 4 MiB. */
const TOO_LARGE: Bytes = [['\0', 5_000_000]];

/** A call of one of the kubelet's own sockets. */
export function socketCall(random: Random): GrpcExchange | RawExchange {
  const to = pick(random, ['devices', 'pod-resources'] as const);
  const method = pick(random, socketMethods[to]!);
  if (chance(random, 0.15)) return { ...h2Exchange(random, [`/${method.path}`, `/${method.path}`]), to };
  const path = chance(random, 0.05)
    ? pick(random, ['/', '*', '/__proto__/a', '/v1.PodResourcesLister/', 'x'])
    : `/${method.path}`;
  const frames = Array.from({ length: pick(random, [1, 1, 1, 1, 1, 0, 2, 40]) }, () =>
    framed(random, message(random, method.table, method.input)),
  );
  const whole = Buffer.concat(frames);
  const cut = random.int(whole.length + 1);
  const parts = chance(random, 0.15) ? [whole.subarray(0, cut), whole.subarray(cut)] : [whole];
  const type = chance(random, 0.95) ? 'application/grpc' : pick(random, ['text/plain', 'application/grpc-web', '']);
  return {
    kind: 'grpc',
    to,
    path,
    headers: [['content-type', type], ...(chance(random, 0.2) ? [pick(random, grpcHeaders)] : [])],
    parts: [...parts.map((part) => folded(textOf(part))), ...(chance(random, 0.02) ? [TOO_LARGE] : [])],
  };
}

const statuses = ['0', '0', '0', '2', '5', '12', '13', '14', '16', '99', '-1', 'x', ''];

/** A peer's response to a call with this result type. */
function peerAnswer(random: Random, { table, output, path }: Method): PeerAnswer {
  const isStream = path.endsWith('ListAndWatch') || path.endsWith('GetContainerEvents');
  const count = isStream ? pick(random, [1, 3, 200]) : pick(random, [1, 1, 1, 1, 0, 2]);
  const frames = Array.from({ length: count }, () => framed(random, message(random, table, output)));
  const how = weighted(random, [
    [14, 'answer'],
    [2, 'cut'],
    [1, 'reset'],
    [1, 'close'],
    [1, 'page'],
    // A call without a response blocks its caller until the deadline, so there are few.
    [0.1, 'hang'],
  ] as const);
  const status = chance(random, 0.85) ? '0' : pick(random, statuses);
  const text = pick(random, [
    'a',
    '%zz',
    '%00',
    '%f0%9f%98%80',
    'a'.repeat(20_000),
    'context deadline exceeded',
    'not found',
  ]);
  const trailers: [string, string][] = [['grpc-status', status]];
  if (chance(random, 0.3)) trailers.push(['grpc-message', text]);
  if (chance(random, 0.03)) trailers.push(['grpc-status-details-bin', '!!!']);
  return { how, data: folded(textOf(Buffer.concat(frames))), trailers };
}

const registration = methodsOf(registrationTable);
const pluginMethods = [devicePluginTable, CSI_TABLE, draTable('v1'), draTable('v1beta1')].flatMap(methodsOf);

const text = (number: number, value: string): Buffer => {
  const bytes = Buffer.from(value);
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
};

const typesWithVersion = [
  ['CSIPlugin', '1.0.0'],
  ['DRAPlugin', 'v1.DRAPlugin'],
  ['DevicePlugin', 'v1beta1'],
] as const;
const versions = ['1.0.0', '0.3.0', 'v1beta1', 'v1', 'v1.DRAPlugin', 'v1beta1.DRAPlugin', 'x', ''];

/** The usual response of a plugin that can be accepted: matching type and version, a name, its own socket. */
function pluginInfo(random: Random): Buffer {
  const [known, usual] = pick(random, typesWithVersion);
  const type = chance(random, 0.95) ? known : pick(random, hostileStrings);
  const name = chance(random, 0.6)
    ? `${pick(random, ['a', 'b', 'c'])}.fuzz.io${type === 'DevicePlugin' ? '/device' : ''}`
    : pick(random, hostileStrings);
  const endpoint = chance(random, 0.85)
    ? ''
    : pick(random, ['/absent', 'x', 'http://127.0.0.1:1/a', ...hostileStrings]);
  const version = chance(random, 0.8) ? usual : pick(random, versions);
  return Buffer.concat([text(1, type), text(2, name), text(3, endpoint), text(4, version)]);
}

/** A plugin whose socket is found, or that registers with the device plugins' service. */
export function pluginExchange(random: Random): PluginExchange {
  const isOwn = chance(random, 0.4);
  const answers: Record<string, PeerAnswer> = {};
  for (const method of [...registration, ...pluginMethods])
    if (chance(random, 0.9)) answers[method.path] = peerAnswer(random, method);
  if (isOwn) return { kind: 'plugin', registration: registerRequest(random), answers };
  const info = pluginInfo(random);
  if (chance(random, 0.8))
    answers['pluginregistration.Registration/GetInfo'] = {
      how: 'answer',
      data: textOf(frame(chance(random, 0.8) ? info : mutateProtobuf(random, info))),
      trailers: [['grpc-status', '0']],
    };
  return { kind: 'plugin', answers };
}

function registerRequest(random: Random): Bytes {
  const version = chance(random, 0.95) ? 'v1beta1' : pick(random, versions);
  const socket = chance(random, 0.95) ? SOCKET_NAME : pick(random, ['kubelet.sock', ...hostileStrings]);
  const name = chance(random, 0.7) ? 'a.fuzz.io/device' : pick(random, hostileStrings);
  const bytes = Buffer.concat([text(1, version), text(2, socket), text(3, name)]);
  return folded(textOf(chance(random, 0.85) ? bytes : mutateProtobuf(random, bytes)));
}

const criMethods = methodsOf(criTable);
const peerMethods = [...criMethods, ...criMethods, ...methodsOf(devicePluginTable), ...methodsOf(CSI_TABLE)];
const provoking = ['/runningpods/', '/stats/summary', '/metrics/resource', '/metrics/cadvisor', '/metrics'];

/** Creates or deletes a pod of the node, which makes the kubelet call all peers. */
function podRequest(random: Random): HttpExchange {
  const name = `fuzz-${1 + random.int(6)}`;
  const collection = '/api/v1/namespaces/fuzz/pods';
  const base = { kind: 'http', over: 'h1', to: 'server' } as const;
  if (chance(random, 0.5))
    return { ...base, method: 'DELETE', path: `${collection}/${name}?gracePeriodSeconds=0`, headers: [] };
  const body = JSON.stringify({ ...podOf(name), metadata: { name, labels: { fuzz: '' } } });
  return { ...base, method: 'POST', path: collection, headers: [['Content-Type', 'application/json']], body };
}

/** Random responses of peers to their next calls, and a request that causes calls. */
export function peersExchange(random: Random): PeersExchange {
  const chosen = Array.from({ length: 1 + random.int(4) }, () => pick(random, peerMethods));
  const request = weighted<() => HttpExchange>(random, [
    [3, () => ({ kind: 'http', over: 'h1', method: 'GET', path: pick(random, provoking), headers: [] })],
    [3, () => kubeletRequest(random)],
    [1, () => podRequest(random)],
  ])();
  return {
    kind: 'peers',
    answers: chosen.map((method) => [method.path, peerAnswer(random, method)] as const),
    requests: [request],
  };
}
