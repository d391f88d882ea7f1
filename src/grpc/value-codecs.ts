/** Reads and writes protobuf's scalars, enums and times as plain values, and holds the plans of messages. */
import type { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { WireType } from '@bufbuild/protobuf/wire';

export type MessageObject = Record<string, unknown>;

/** How one value of a type is written and read, without its tag. */
export interface ValueCodec {
  readonly wireType: WireType;
  /** The value that is left out; undefined for messages, which are absent instead. */
  readonly zero: unknown;
  write(writer: BinaryWriter, value: unknown): void;
  read(reader: BinaryReader): unknown;
  /** Absent for scalars and enums. */
  plan?(): MessagePlan;
}

export interface FieldPlan {
  readonly number: number;
  readonly plainName: string;
  readonly kind: 'single' | 'list' | 'map';
  readonly value: ValueCodec;
}

export interface MessagePlan {
  readonly typeName: string;
  readonly fields: readonly FieldPlan[];
  readonly byName: ReadonlyMap<string, FieldPlan>;
  readonly byNumber: ReadonlyMap<number, FieldPlan>;
}

function toNanoseconds(value: unknown): bigint {
  const ms = value as number;
  const wholeMs = Math.floor(ms);
  return BigInt(wholeMs) * 1_000_000n + BigInt(Math.round((ms - wholeMs) * 1000)) * 1000n;
}

const wholeNumber = (value: unknown): bigint => BigInt(Math.trunc(value as number));

/** A 64-bit time: nanoseconds on the wire, milliseconds here. */
export const nanoseconds: ValueCodec = {
  wireType: WireType.Varint,
  zero: 0,
  write: (writer, value) => writer.int64(toNanoseconds(value)),
  read: (reader) => Number(BigInt(reader.int64()) / 1000n) / 1000,
};

/** The same with a fixed length. */
export const fixedNanoseconds: ValueCodec = {
  wireType: WireType.Bit64,
  zero: 0,
  write: (writer, value) => writer.fixed64(toNanoseconds(value)),
  read: (reader) => Number(BigInt(reader.fixed64()) / 1000n) / 1000,
};

export const scalars: Readonly<Record<string, ValueCodec>> = {
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

/** Empty bytes are recognized by their length, not by comparison with a zero. */
export const bytes: ValueCodec = {
  wireType: WireType.LengthDelimited,
  zero: new Uint8Array(),
  write: (writer, value) => writer.bytes(value as Uint8Array),
  read: (reader) => reader.bytes(),
};

export function enumCodec(typeName: string, names: readonly string[]): ValueCodec {
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
