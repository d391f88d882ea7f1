/**
 * containerd's own event service as a source of CRI events: containerd 1.6 answers GetContainerEvents with Unimplemented
 * but reports tasks and containers here at once, on the same socket.
 *
 * Only topics that change what a kubelet sees are passed on; exits of exec'd processes are not.
 */
import { getOwn } from '../api/codec/own-property.ts';
import type { CriEvent } from './runtime-service.ts';
import type { GrpcCaller } from '../grpc/grpc-caller.ts';
import type { ProtobufTable } from '../grpc/protobuf-table.ts';

/** containerd.services.events.v1, as far as it is used. `Any` is spelled out: its bytes are decoded by topic. */
export const eventsTable = {
  package: 'containerd.services.events.v1',
  enums: {},
  messages: {
    Any: 'type_url:1:string value:2:bytes',
    SubscribeRequest: 'filters:1:[]string',
    Envelope: 'namespace:2:string topic:3:string event:4:Any',
  },
  services: { Events: { Subscribe: 'SubscribeRequest stream Envelope' } },
} as const satisfies ProtobufTable;

interface Envelope {
  readonly namespace: string;
  readonly topic: string;
  readonly event?: { readonly typeUrl: string; readonly value: Uint8Array };
}

const TOPICS: Readonly<Record<string, CriEvent['type']>> = {
  '/containers/create': 'created',
  '/tasks/start': 'started',
  '/tasks/exit': 'stopped',
  '/containers/delete': 'deleted',
};

/** Reads the string fields and the varint fields of a flat protobuf message, by number. */
function readFlat(bytes: Uint8Array): { strings: Map<number, string>; numbers: Map<number, number> } {
  const strings = new Map<number, string>();
  const numbers = new Map<number, number>();
  const decoder = new TextDecoder();
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 1; at < bytes.length; shift *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 0x7f) * shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (at < bytes.length) {
    const tag = varint();
    const wire = tag & 7;
    if (wire === 0) numbers.set(tag >>> 3, varint());
    else if (wire === 2) {
      const length = varint();
      strings.set(tag >>> 3, decoder.decode(bytes.subarray(at, at + length)));
      at += length;
    } else if (wire === 1) at += 8;
    else if (wire === 5) at += 4;
    else break;
  }
  return { strings, numbers };
}

/** The event in an envelope; undefined when it is irrelevant. TaskExit: container_id 1, id 2, pid 3, exit_status 4. */
export function eventOf(envelope: Envelope, namespace: string): CriEvent | undefined {
  const type = getOwn(TOPICS, envelope.topic);
  if (type === undefined || envelope.namespace !== namespace || envelope.event === undefined) return undefined;
  const { strings, numbers } = readFlat(envelope.event.value);
  const containerId = strings.get(1) ?? '';
  if (type !== 'stopped') return { containerId, type };
  // An exec'd process has an id of its own; its exit is not the container's.
  if (strings.get(2) !== containerId) return undefined;
  return { containerId, type, exitCode: numbers.get(4) ?? 0 };
}

/** Subscribes to containerd's events of one namespace. */
export function createContainerdEvents(
  caller: () => Promise<GrpcCaller>,
  namespace: string,
): (signal: AbortSignal) => AsyncIterable<CriEvent> {
  const filters = Object.keys(TOPICS).map((topic) => `namespace==${namespace},topic=="${topic}"`);
  const method = { service: `${eventsTable.package}.Events`, method: 'Subscribe' };
  return async function* (signal) {
    const stream = (await caller()).stream(method, { filters }, { signal });
    for await (const envelope of stream) {
      const event = eventOf(envelope as Envelope, namespace);
      if (event !== undefined) yield event;
    }
  };
}
