// Protobuf inputs: messages of two bytes each, nesting, packed and unknown fields, map entries.
import { BODY_LIMIT, type HostileInput } from './bodies.ts';

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  return Buffer.from([...bytes, rest]);
}

/** A length-delimited field. */
function field(number: number, value: Uint8Array | string): Buffer {
  const bytes = Buffer.from(value as string);
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

/** The envelope of upstream's serializer. */
function envelope(apiVersion: string, kind: string, raw: Uint8Array): Buffer {
  const type = Buffer.concat([field(1, apiVersion), field(2, kind)]);
  return Buffer.concat([Buffer.from('k8s\0'), field(1, type), field(2, raw)]);
}

const ROOM = BODY_LIMIT - 1000;
const named = field(1, field(1, 'a'));

function repeated(part: Uint8Array): Buffer {
  return Buffer.alloc(Math.floor(ROOM / part.length) * part.length, part);
}

function nested(number: number, levels: number): Buffer {
  let inner: Buffer = Buffer.alloc(0);
  for (let level = 0; level < levels && inner.length < ROOM; level++) inner = field(number, inner);
  return inner;
}

const pod = (spec: Uint8Array): Buffer => envelope('v1', 'Pod', Buffer.concat([named, field(2, spec)]));
const configMap = (rest: Uint8Array): Buffer => envelope('v1', 'ConfigMap', Buffer.concat([named, rest]));

const bodies: Readonly<Record<string, readonly [path: string, () => Uint8Array]>> = {
  'empty containers': ['pods', () => pod(repeated(field(2, '')))],
  'empty volumes': ['pods', () => pod(repeated(field(1, '')))],
  'empty tolerations': ['pods', () => pod(repeated(field(22, '')))],
  'empty map entries': ['configmaps', () => configMap(repeated(field(2, '')))],
  'map entries': [
    'configmaps',
    () =>
      configMap(
        Buffer.concat(Array.from({ length: 250_000 }, (_, i) => field(2, field(1, `k${i.toString(36)}`)))).subarray(0),
      ),
  ],
  'unknown fields': ['configmaps', () => configMap(repeated(Buffer.from([0x78, 0x01])))],
  'unknown groups': ['configmaps', () => configMap(repeated(Buffer.from([0x7b])))],
  'the same field': ['configmaps', () => configMap(repeated(named))],
  'long varints': ['configmaps', () => configMap(repeated(Buffer.from([0x78, ...Array(9).fill(0xff), 1])))],
  nesting: ['configmaps', () => configMap(nested(1, 100_000))],
  'raw objects in one another': ['configmaps', () => envelope('v1', 'ConfigMap', nested(2, 100_000))],
  'owner references': ['configmaps', () => envelope('v1', 'ConfigMap', field(1, repeated(field(13, ''))))],
  finalizers: ['configmaps', () => envelope('v1', 'ConfigMap', field(1, repeated(field(14, ''))))],
};

export function protobufInputs(): HostileInput[] {
  return Object.entries(bodies).map(([name, [path, body]]) => ({
    name: `protobuf: ${name}`,
    request: () => ({
      method: 'POST',
      path: `${path}?dryRun=All`,
      type: 'application/vnd.kubernetes.protobuf',
      body: body(),
    }),
  }));
}
