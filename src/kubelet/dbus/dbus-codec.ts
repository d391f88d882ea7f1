/**
 * Encodes and decodes D-Bus messages, for method calls of systemd and their replies. Messages are written in
 * little-endian and read in both byte orders. A variant is written from a pair of type and value, and read as the
 * value alone. No file descriptors. Specification: dbus.freedesktop.org, "Message Protocol". By hand instead of
 * dbus-next or dbus-native: neither is maintained, and both open sockets without the network port.
 */
import { type DbusValue, Reader, Writer } from './dbus-wire.ts';

/** Kinds of messages. */
export const MESSAGE_TYPES = { call: 1, answer: 2, error: 3, signal: 4 } as const;

export interface DbusMessage {
  readonly type: number;
  readonly serial: number;
  readonly path?: string;
  readonly interface?: string;
  readonly member?: string;
  readonly errorName?: string;
  readonly replySerial?: number;
  readonly destination?: string;
  readonly sender?: string;
  readonly signature?: string;
  readonly body: readonly DbusValue[];
}

const LITTLE = 'l'.charCodeAt(0);
const BIG = 'B'.charCodeAt(0);
const PROTOCOL_VERSION = 1;
const FIXED_HEADER_BYTES = 16;
/** The specification's limit. */
const MAX_MESSAGE_BYTES = 128 * 1024 * 1024;

const HEADER_FIELDS = [
  [1, 'path', 'o'],
  [2, 'interface', 's'],
  [3, 'member', 's'],
  [4, 'errorName', 's'],
  [5, 'replySerial', 'u'],
  [6, 'destination', 's'],
  [7, 'sender', 's'],
  [8, 'signature', 'g'],
] as const;

/**
 * Encodes a message; the body's types are given by its signature (s, o, g, u, i, b, t, v, arrays and structs of
 * these).
 */
export function encodeMessage(message: DbusMessage): Buffer {
  const body = new Writer();
  body.values(message.signature ?? '', message.body);
  const fields = new Writer();
  for (const [code, name, type] of HEADER_FIELDS) {
    const value = message[name];
    if (value === undefined || value === '') continue;
    fields.align(8);
    fields.bytes(Buffer.from([code]));
    fields.value('g', type);
    fields.value(type, value);
  }
  const head = new Writer();
  head.bytes(Buffer.from([LITTLE, message.type, 0, PROTOCOL_VERSION]));
  head.uint32(body.length);
  head.uint32(message.serial);
  head.uint32(fields.length);
  head.bytes(fields.whole());
  head.align(8);
  head.bytes(body.whole());
  return head.whole();
}

/** The first message in the bytes and its length; undefined while it is incomplete. @throws Error on invalid input */
export function decodeMessage(data: Buffer): { message: DbusMessage; bytes: number } | undefined {
  if (data.length < FIXED_HEADER_BYTES) return undefined;
  if (data[0] !== LITTLE && data[0] !== BIG) throw new Error('not a D-Bus message');
  const reader = new Reader(data, data[0] === LITTLE, 4);
  const [bodyBytes, serial, fieldBytes] = [reader.uint32(), reader.uint32(), reader.uint32()];
  const bodyAt = Math.ceil((FIXED_HEADER_BYTES + fieldBytes) / 8) * 8;
  const bytes = bodyAt + bodyBytes;
  if (bytes > MAX_MESSAGE_BYTES) throw new Error(`a D-Bus message of ${bytes} bytes is too long`);
  if (data.length < bytes) return undefined;
  const header: Record<string, DbusValue> = {};
  while (reader.at < FIXED_HEADER_BYTES + fieldBytes) {
    const [code, value] = reader.value('(yv)') as readonly [number, DbusValue];
    const known = HEADER_FIELDS.find(([each]) => each === code);
    if (known !== undefined) header[known[1]] = value;
  }
  reader.at = bodyAt;
  const body = reader.values(String(header['signature'] ?? ''));
  return { message: { ...header, type: data[1] ?? 0, serial, body }, bytes };
}
