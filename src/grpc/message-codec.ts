/**
 * Converts between protobuf's wire format and plain objects in one step: 64-bit integers are plain numbers,
 * nanosecond times milliseconds (with fractions down to the microsecond), enums their names.
 *
 * A per-message plan is computed once. Values that a plain object lacks are zero values, which proto3 leaves out;
 * names that the message does not have are an error, so that a misspelt field cannot vanish. By hand rather than by
 * protobuf-es: its messages are classes to convert from and to; only its reader and writer of the wire format are
 * used.
 */
import { WireType } from '@bufbuild/protobuf/wire';
import { errorMessage } from '../base/errors.ts';
import { allSteps, type Steps } from '../base/steps.ts';
import { MessageReader, readMessage, readMessageSteps } from './read-message.ts';
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
  /** Decodes in steps: long lists of messages are decoded piece by piece. */
  decodeSteps(typeName: string, bytes: Uint8Array): Steps<object>;
}

/** The codec for the messages of these tables. A message of more than `maxValues` values is not decoded. */
export function createMessageCodec(tables: readonly ProtobufTable[], maxValues = Infinity): MessageCodec {
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
      return readMessage(reader as MessageReader, planOf(typeName), reader.pos + length);
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
  function* decodeSteps(typeName: string, encoded: Uint8Array): Steps<object> {
    const plan = planOf(typeName);
    try {
      return yield* readMessageSteps(new MessageReader(encoded, maxValues), plan, encoded.length);
    } catch (error) {
      // The reader's RangeErrors are about what a peer sent: no fault of the program, and no stack for the log.
      throw new Error(`proto: cannot parse ${typeName}: ${errorMessage(error)}`);
    }
  }
  return {
    encode: (typeName, plain) => allSteps(encodeSteps(typeName, plain)),
    encodeSteps,
    decode: (typeName, encoded) => allSteps(decodeSteps(typeName, encoded)),
    decodeSteps,
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
