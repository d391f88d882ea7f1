// Messages of a protobuf table with random values in every field, as a peer that knows the protocol may send them.
import { parseFields, type ProtobufTable } from '../../../src/grpc/protobuf-table.ts';
import { chance, pick, type Random } from '../draw.ts';
import { hostileStrings } from './hostile.ts';
import { varint } from './mutate-protobuf.ts';

/** Names that the target itself uses, so that responses refer to known objects. */
const names = [
  'steady',
  'fuzz',
  'c',
  'i:1',
  'steady.example',
  'steady.example/device',
  'io.kubernetes.pod.uid',
  'io.kubernetes.pod.name',
  'io.kubernetes.pod.namespace',
  'io.kubernetes.container.name',
  'd0',
  '127.0.0.1',
  '::1',
  'http://127.0.0.1:1/a',
  'Healthy',
  'v1',
];

const numbers = [0, 1, 2, 3, 127, 128, 65_535, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53 - 1];

const lengthDelimited = (number: number, payload: Buffer): Buffer =>
  Buffer.concat([varint(number * 8 + 2), varint(payload.length), payload]);

/** Negative and maximum integers in protobuf's encoding. */
function integer(random: Random): Buffer {
  if (chance(random, 0.8)) return varint(pick(random, numbers));
  return chance(random, 0.5) ? Buffer.from('ffffffffffffffffff01', 'hex') : Buffer.from('ffffffffffffffff7f', 'hex');
}

const text = (random: Random): Buffer =>
  Buffer.from(chance(random, 0.6) ? pick(random, names) : pick(random, hostileStrings));

/** The bytes of a message; nested messages are present to this depth. */
export function tableMessage(random: Random, table: ProtobufTable, name: string, depth = 6): Buffer {
  const fields = parseFields(table.messages[name] ?? '');
  return Buffer.concat(fields.flatMap(({ number, type }) => fieldOf(random, { table, number, type, depth })));
}

interface Place {
  readonly table: ProtobufTable;
  readonly number: number;
  readonly type: string;
  readonly depth: number;
}

function fieldOf(random: Random, { table, number, type, depth }: Place): Buffer[] {
  if (chance(random, 0.12)) return [];
  const count = type.startsWith('[]') || type.startsWith('map<') ? pick(random, [0, 1, 1, 2, 3]) : 1;
  const element = /^map<string,(.+)>$/.exec(type)?.[1] ?? type.replace('[]', '');
  const one = (at: number): Buffer => valueOf(random, { table, number: at, type: element, depth });
  return Array.from({ length: count }, () =>
    type.startsWith('map<')
      ? lengthDelimited(number, Buffer.concat([lengthDelimited(1, text(random)), one(2)]))
      : one(number),
  );
}

function valueOf(random: Random, { table, number, type, depth }: Place): Buffer {
  if (type === 'string' || type === 'bytes') return lengthDelimited(number, text(random));
  if (type === 'double') return Buffer.concat([varint(number * 8 + 1), Buffer.from(random.bytes(8))]);
  const name = type.split('.').at(-1)!;
  if (!Object.hasOwn(table.messages, name)) return Buffer.concat([varint(number * 8), integer(random)]);
  return depth === 0 ? Buffer.alloc(0) : lengthDelimited(number, tableMessage(random, table, name, depth - 1));
}
