/**
 * Converts between protobuf's wire format and plain objects in one step: 64-bit integers are plain numbers,
 * nanosecond times milliseconds (with fractions down to the microsecond), enums their names.
 *
 * A per-message plan is computed once. Values that a plain object lacks are zero values, which proto3 leaves out;
 * names that the message does not have are an error, so that a misspelt field cannot vanish. By hand rather than by
 * protobuf-es: its messages are classes to convert from and to; only its reader and writer of the wire format are
 * used.
 */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { setOwn } from '../api/codec/own-property.ts';
import { errorMessage } from '../base/errors.ts';
import { allSteps, type Steps } from '../base/steps.ts';
import { parseFields, plainFieldName, type ProtobufTable, type TableField } from './protobuf-table.ts';
import {
  bytes,
  enumCodec,
  type FieldPlan,
  fixedNanoseconds,
  type MessagePlan,
  nanoseconds,
  type MessageObject,
  scalars,
  type ValueCodec,
} from './value-codecs.ts';
import { type EncodedLists, longListSteps, MessageWriter, writeMessage } from './write-message.ts';

/** Encodes and decodes messages of one or several tables. */
export interface MessageCodec {
  /** The bytes of a plain object. Throws on a field the message does not have. */
  encode(typeName: string, plain: object): Uint8Array;
  /** Encodes in steps: long lists of messages are encoded piece by piece. */
  encodeSteps(typeName: string, plain: object): Steps<Uint8Array>;
  /** A plain object with every scalar, list and map present. Throws on bytes that are not such a message. */
  decode(typeName: string, bytes: Uint8Array): object;
}

/** The codec for the messages of these tables. */
export function createMessageCodec(tables: readonly ProtobufTable[]): MessageCodec {
  const plans = new Map<string, MessagePlan>();
  const planOf = (typeName: string): MessagePlan => {
    const cached = plans.get(typeName);
    if (cached !== undefined) return cached;
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
  // Plans are looked up when a value is present, since messages may contain themselves.
  const messageCodec = (typeName: string): ValueCodec => ({
    wireType: WireType.LengthDelimited,
    zero: undefined,
    plan: () => planOf(typeName),
    write(writer, value) {
      writer.fork();
      writeMessage(writer, planOf(typeName), value as MessageObject);
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
    yield* longListSteps(plan, plain as MessageObject, lists);
    const writer = new MessageWriter(lists);
    writeMessage(writer, plan, plain as MessageObject);
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

function readMessage(reader: BinaryReader, plan: MessagePlan, end: number): MessageObject {
  const plain: MessageObject = {};
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
