/**
 * Between protobuf's wire format and our plain objects, in one step: 64-bit integers are plain numbers, nanosecond times
 * milliseconds (with fractions down to the microsecond), enums their names.
 *
 * A per-message plan is computed once. Values a plain object lacks are zero values, which proto3 leaves out; names the
 * message does not have are an error, so that a misspelt field cannot vanish.
 * By hand rather than by protobuf-es: its messages are classes to convert from and to; only its reader and writer of
 * the wire are used.
 */
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { setOwn } from '../api/codec/own-property.ts';
import { errorMessage } from '../base/errors.ts';
import { allSteps, type Steps } from '../base/steps.ts';
import { parseFields, plainFieldName, type ProtobufTable, type TableField } from './protobuf-table.ts';

type Plain = Record<string, unknown>;

/** How one value of a type is written and read, without its tag. */
interface ValueCodec {
  readonly wireType: WireType;
  /** The value that is left out; undefined for messages, which are absent instead. */
  readonly zero: unknown;
  write(writer: BinaryWriter, value: unknown): void;
  read(reader: BinaryReader): unknown;
  /** Absent for scalars and enums. */
  plan?(): MessagePlan;
}

interface FieldPlan {
  readonly number: number;
  readonly plainName: string;
  readonly kind: 'single' | 'list' | 'map';
  readonly value: ValueCodec;
}

interface MessagePlan {
  readonly typeName: string;
  readonly fields: readonly FieldPlan[];
  readonly byName: ReadonlyMap<string, FieldPlan>;
  readonly byNumber: ReadonlyMap<number, FieldPlan>;
}

/** Encodes and decodes messages of one or several tables. */
export interface MessageCodec {
  /** The bytes of a plain object. Throws on a field the message does not have. */
  encode(typeName: string, plain: object): Uint8Array;
  /** The same in steps: a list of messages that is long goes piece by piece. */
  encodeSteps(typeName: string, plain: object): Steps<Uint8Array>;
  /** A plain object with every scalar, list and map present. Throws on bytes that are not such a message. */
  decode(typeName: string, bytes: Uint8Array): object;
}

function toNanoseconds(value: unknown): bigint {
  const ms = value as number;
  const wholeMs = Math.floor(ms);
  return BigInt(wholeMs) * 1_000_000n + BigInt(Math.round((ms - wholeMs) * 1000)) * 1000n;
}

const wholeNumber = (value: unknown): bigint => BigInt(Math.trunc(value as number));

/** A 64-bit time: nanoseconds on the wire, milliseconds here. */
const nanoseconds: ValueCodec = {
  wireType: WireType.Varint,
  zero: 0,
  write: (writer, value) => writer.int64(toNanoseconds(value)),
  read: (reader) => Number(BigInt(reader.int64()) / 1000n) / 1000,
};

/** The same with a fixed length. */
const fixedNanoseconds: ValueCodec = {
  wireType: WireType.Bit64,
  zero: 0,
  write: (writer, value) => writer.fixed64(toNanoseconds(value)),
  read: (reader) => Number(BigInt(reader.fixed64()) / 1000n) / 1000,
};

const scalars: Readonly<Record<string, ValueCodec>> = {
  string: {
    wireType: WireType.LengthDelimited,
    zero: '',
    write: (writer, value) => writer.string(value as string),
    read: (reader) => reader.string(),
  },
  bool: {
    wireType: WireType.Varint,
    zero: false,
    write: (writer, value) => writer.bool(value as boolean),
    read: (reader) => reader.bool(),
  },
  int32: {
    wireType: WireType.Varint,
    zero: 0,
    write: (writer, value) => writer.int32(value as number),
    read: (reader) => reader.int32(),
  },
  uint32: {
    wireType: WireType.Varint,
    zero: 0,
    write: (writer, value) => writer.uint32(value as number),
    read: (reader) => reader.uint32(),
  },
  fixed32: {
    wireType: WireType.Bit32,
    zero: 0,
    write: (writer, value) => writer.fixed32(value as number),
    read: (reader) => reader.fixed32(),
  },
  int64: {
    wireType: WireType.Varint,
    zero: 0,
    write: (writer, value) => writer.int64(wholeNumber(value)),
    read: (reader) => Number(reader.int64()),
  },
  uint64: {
    wireType: WireType.Varint,
    zero: 0,
    write: (writer, value) => writer.uint64(wholeNumber(value)),
    read: (reader) => Number(reader.uint64()),
  },
  // Identifiers that use all 64 bits, as decimal text.
  uint64text: {
    wireType: WireType.Varint,
    zero: '0',
    write: (writer, value) => writer.uint64(value as string),
    read: (reader) => String(reader.uint64()),
  },
  double: {
    wireType: WireType.Bit64,
    zero: 0,
    write: (writer, value) => writer.double(value as number),
    read: (reader) => reader.double(),
  },
};

/** Empty bytes are told by their length, not by being equal to a zero. */
const bytes: ValueCodec = {
  wireType: WireType.LengthDelimited,
  zero: new Uint8Array(),
  write: (writer, value) => writer.bytes(value as Uint8Array),
  read: (reader) => reader.bytes(),
};

function enumCodec(typeName: string, names: readonly string[]): ValueCodec {
  return {
    wireType: WireType.Varint,
    zero: names[0],
    write(writer, value) {
      const number = names.indexOf(value as string);
      if (number < 0) throw new Error(`${typeName} has no value ${String(value)}`);
      writer.int32(number);
    },
    read(reader) {
      const number = reader.int32();
      return names[number] ?? String(number);
    },
  };
}

/** Makes the codec of the messages these tables describe. */
export function createMessageCodec(tables: readonly ProtobufTable[]): MessageCodec {
  const plans = new Map<string, MessagePlan>();
  const planOf = (typeName: string): MessagePlan => {
    const known = plans.get(typeName);
    if (known !== undefined) return known;
    const table = tables.find(
      (each) =>
        typeName.startsWith(`${each.package}.`) &&
        Object.hasOwn(each.messages, typeName.slice(each.package.length + 1)),
    );
    if (table === undefined) throw new Error(`no protobuf message ${typeName}`);
    const text = table.messages[typeName.slice(table.package.length + 1)] ?? '';
    const fields = parseFields(text).map((field) => fieldPlan(field, table, messageCodec));
    const plan: MessagePlan = {
      typeName,
      fields,
      byName: new Map(fields.map((field) => [field.plainName, field])),
      byNumber: new Map(fields.map((field) => [field.number, field])),
    };
    plans.set(typeName, plan);
    return plan;
  };
  // Plans are looked up when a value is there: messages may hold themselves.
  const messageCodec = (typeName: string): ValueCodec => ({
    wireType: WireType.LengthDelimited,
    zero: undefined,
    plan: () => planOf(typeName),
    write(writer, value) {
      writer.fork();
      writeMessage(writer, planOf(typeName), value as Plain);
      writer.join();
    },
    read(reader) {
      const length = reader.uint32();
      return readMessage(reader, planOf(typeName), reader.pos + length);
    },
  });
  function* encodeSteps(typeName: string, plain: object): Steps<Uint8Array> {
    const plan = planOf(typeName);
    const lists: EncodedLists = new Map();
    yield* longListSteps(plan, plain as Plain, lists);
    const writer = new MessageWriter(lists);
    writeMessage(writer, plan, plain as Plain);
    return writer.finish();
  }
  return {
    encode: (typeName, plain) => allSteps(encodeSteps(typeName, plain)),
    encodeSteps,
    decode(typeName, encoded) {
      const plan = planOf(typeName);
      try {
        return readMessage(new BinaryReader(encoded), plan, encoded.length);
      } catch (error) {
        // The reader's RangeErrors are about what a peer sent: no fault of the program, and no stack for the log.
        throw new Error(`proto: cannot parse ${typeName}: ${errorMessage(error)}`);
      }
    },
  };
}

function fieldPlan(field: TableField, table: ProtobufTable, messageCodec: (typeName: string) => ValueCodec): FieldPlan {
  const { number, type } = field;
  const plainName = plainFieldName(field);
  const list = type.startsWith('[]');
  const mapped = /^map<string,(.+)>$/.exec(type)?.[1];
  const element = mapped ?? (list ? type.slice(2) : type);
  const valueCodec = (): ValueCodec => {
    if (field.conversion === 'ns') return element === 'fixed64' ? fixedNanoseconds : nanoseconds;
    if (element === 'bytes') return bytes;
    const scalar = Object.hasOwn(scalars, element) ? scalars[element] : undefined;
    if (scalar !== undefined) return scalar;
    const fullName = element.startsWith('.') ? element.slice(1) : `${table.package}.${element}`;
    const values = Object.hasOwn(table.enums, element) ? table.enums[element] : undefined;
    return values === undefined ? messageCodec(fullName) : enumCodec(fullName, values.split(' '));
  };
  const kind = mapped !== undefined ? 'map' : list ? 'list' : 'single';
  return { number, plainName, kind, value: valueCodec() };
}

/** Items of a list of messages that are encoded in one turn: some milliseconds. */
const ITEMS_PER_STEP = 10_000;

/** Lists that are encoded already, with their tags. */
type EncodedLists = Map<readonly unknown[], readonly Uint8Array[]>;

class MessageWriter extends BinaryWriter {
  readonly #lists: EncodedLists;

  constructor(lists: EncodedLists) {
    super();
    this.#lists = lists;
  }

  /** Whether the list was encoded before, and stands here now. */
  writeEncoded(list: readonly unknown[]): boolean {
    const pieces = this.#lists.size === 0 ? undefined : this.#lists.get(list);
    pieces?.forEach((piece) => this.raw(piece));
    return pieces !== undefined;
  }
}

/** Encodes the long lists of a message and of messages in it, each piece in a step. */
function* longListSteps(plan: MessagePlan, plain: Plain, lists: EncodedLists): Steps<void> {
  for (const name of Object.keys(plain)) {
    const field = plan.byName.get(name);
    const value = plain[name];
    if (field?.value.plan === undefined || value === undefined) continue;
    if (field.kind === 'single') yield* longListSteps(field.value.plan(), value as Plain, lists);
    else if (field.kind === 'list') {
      const items = value as readonly unknown[];
      if (items.length > ITEMS_PER_STEP) lists.set(items, yield* piecesOf(field, items));
    }
  }
}

function* piecesOf(field: FieldPlan, items: readonly unknown[]): Steps<readonly Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < items.length; at += ITEMS_PER_STEP) {
    const writer = new BinaryWriter();
    writeList(writer, field, items.slice(at, at + ITEMS_PER_STEP));
    pieces.push(writer.finish());
    yield;
  }
  return pieces;
}

function writeMessage(writer: BinaryWriter, plan: MessagePlan, plain: Plain): void {
  for (const name of Object.keys(plain)) {
    const value = plain[name];
    if (value === undefined) continue;
    const field = plan.byName.get(name);
    if (field === undefined) throw new Error(`${plan.typeName} has no field ${name}`);
    if (field.kind === 'single') writeSingle(writer, field, value);
    else if (field.kind === 'list') writeList(writer, field, value as readonly unknown[]);
    else writeMap(writer, field, value as Readonly<Record<string, unknown>>);
  }
}

function writeSingle(writer: BinaryWriter, { number, value: codec }: FieldPlan, value: unknown): void {
  if (value === codec.zero || (codec === bytes && (value as Uint8Array).length === 0)) return;
  codec.write(writer.tag(number, codec.wireType), value);
}

/** Numbers go packed, as proto3 has it. */
function writeList(writer: BinaryWriter, { number, value: codec }: FieldPlan, values: readonly unknown[]): void {
  if (values.length === 0 || (writer instanceof MessageWriter && writer.writeEncoded(values))) return;
  if (codec.wireType === WireType.LengthDelimited) {
    for (const value of values) codec.write(writer.tag(number, codec.wireType), value);
    return;
  }
  writer.tag(number, WireType.LengthDelimited).fork();
  for (const value of values) codec.write(writer, value);
  writer.join();
}

function writeMap(
  writer: BinaryWriter,
  { number, value: codec }: FieldPlan,
  map: Readonly<Record<string, unknown>>,
): void {
  for (const key of Object.keys(map)) {
    writer.tag(number, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.LengthDelimited).string(key);
    codec.write(writer.tag(2, codec.wireType), map[key]);
    writer.join();
  }
}

function readMessage(reader: BinaryReader, plan: MessagePlan, end: number): Plain {
  const plain: Plain = {};
  for (const { plainName, kind, value } of plan.fields) {
    if (kind === 'list') plain[plainName] = [];
    else if (kind === 'map') plain[plainName] = {};
    else if (value.zero !== undefined) plain[plainName] = value.zero;
  }
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    const field = plan.byNumber.get(number);
    if (field === undefined) reader.skip(wireType, number);
    else if (field.kind === 'single') plain[field.plainName] = field.value.read(reader);
    else if (field.kind === 'list') readList(reader, { field, wireType }, plain[field.plainName] as unknown[]);
    else readMapEntry(reader, field, plain[field.plainName] as Record<string, unknown>);
  }
  return plain;
}

function readList(
  reader: BinaryReader,
  { field, wireType }: { field: FieldPlan; wireType: WireType },
  list: unknown[],
): void {
  const packed = wireType === WireType.LengthDelimited && field.value.wireType !== WireType.LengthDelimited;
  if (!packed) {
    list.push(field.value.read(reader));
    return;
  }
  const length = reader.uint32();
  for (const end = reader.pos + length; reader.pos < end;) list.push(field.value.read(reader));
}

/** An entry without a value has the value's zero; of a message that is one with nothing in it, which Go writes out. */
function readMapEntry(reader: BinaryReader, { value: codec }: FieldPlan, map: Record<string, unknown>): void {
  let key = '';
  let value: unknown = codec.zero;
  const length = reader.uint32();
  for (const end = reader.pos + length; reader.pos < end;) {
    const [number, wireType] = reader.tag();
    if (number === 1) key = reader.string();
    else if (number === 2) value = codec.read(reader);
    else reader.skip(wireType, number);
  }
  if (value !== undefined) setOwn(map, key, value);
}
