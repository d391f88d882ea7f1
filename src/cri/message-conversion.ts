/**
 * Between protobuf-es messages and our plain objects: 64-bit integers are plain numbers, nanosecond times milliseconds
 * (with fractions down to the microsecond), enums their names.
 *
 * A per-message plan is computed once. Values a plain object lacks stay at their zero value; names the message does not
 * have are an error, so that a misspelt field cannot vanish.
 */
import { create, ScalarType, type DescEnum, type DescField, type DescMessage, type Message } from '@bufbuild/protobuf';
import {
  parseFields,
  plainFieldName,
  type FieldConversion,
  type ProtobufTable,
  type TableField,
} from './protobuf-table.ts';

type Plain = Record<string, unknown>;
type Convert = (value: unknown) => unknown;

interface FieldPlan {
  readonly plainName: string;
  readonly localName: string;
  readonly encode: Convert;
  readonly decode: Convert;
}

/** Converts messages of one or several tables. */
export interface MessageConversion {
  /** A message from a plain object. Throws on a field the message does not have. */
  encode(message: DescMessage, plain: object): Message;
  /** A plain object with every scalar, list and map present, from a message. */
  decode(message: DescMessage, value: Message): object;
}

const identity: Convert = (value) => value;
const longTypes: ReadonlySet<ScalarType> = new Set([ScalarType.INT64, ScalarType.UINT64]);

function toNanoseconds(value: unknown): bigint {
  const ms = value as number;
  const wholeMs = Math.floor(ms);
  return BigInt(wholeMs) * 1_000_000n + BigInt(Math.round((ms - wholeMs) * 1000)) * 1000n;
}

function scalarConversion(scalar: ScalarType, conversion: FieldConversion): { encode: Convert; decode: Convert } {
  if (!longTypes.has(scalar)) return { encode: identity, decode: identity };
  if (conversion === 'ns')
    return { encode: toNanoseconds, decode: (value) => Number((value as bigint) / 1000n) / 1000 };
  return { encode: (value) => BigInt(Math.trunc(value as number)), decode: (value) => Number(value as bigint) };
}

function enumConversion(desc: DescEnum): { encode: Convert; decode: Convert } {
  const encode: Convert = (value) => {
    const found = desc.values.find((entry) => entry.name === value);
    if (found === undefined) throw new Error(`${desc.typeName} has no value ${String(value)}`);
    return found.number;
  };
  return { encode, decode: (value) => desc.value[value as number]?.name ?? String(value) };
}

/** Makes the conversion for messages described by these tables. */
export function createMessageConversion(tables: readonly ProtobufTable[]): MessageConversion {
  const plans = new Map<string, ReadonlyMap<string, FieldPlan>>();
  const facts = new Map<string, ReadonlyMap<string, TableField>>(
    tables.flatMap((table) =>
      Object.entries(table.messages).map(
        ([name, text]) =>
          [`${table.package}.${name}`, new Map(parseFields(text).map((field) => [field.name, field]))] as const,
      ),
    ),
  );

  const elementOf = (field: DescField, conversion: FieldConversion): { encode: Convert; decode: Convert } => {
    if (field.message !== undefined && field.fieldKind !== 'map') {
      const message = field.message;
      return {
        encode: (value) => encode(message, value as object),
        decode: (value) => decode(message, value as Message),
      };
    }
    if (field.enum !== undefined) return enumConversion(field.enum);
    return field.scalar === undefined
      ? { encode: identity, decode: identity }
      : scalarConversion(field.scalar, conversion);
  };

  const planOf = (message: DescMessage): ReadonlyMap<string, FieldPlan> => {
    const known = plans.get(message.typeName);
    if (known !== undefined) return known;
    const plan = new Map<string, FieldPlan>();
    for (const field of message.fields) {
      const fact = facts.get(message.typeName)?.get(field.name) ?? {
        name: field.name,
        number: field.number,
        type: '',
        conversion: '' as const,
      };
      const element = elementOf(field, fact.conversion);
      const list = field.fieldKind === 'list' && element.encode !== identity;
      const plainName = plainFieldName(fact);
      plan.set(plainName, {
        plainName,
        localName: field.localName,
        encode: list ? (value) => (value as unknown[]).map(element.encode) : element.encode,
        decode: list ? (value) => (value as unknown[]).map(element.decode) : element.decode,
      });
    }
    plans.set(message.typeName, plan);
    return plan;
  };

  const encode = (message: DescMessage, plain: object): Message => {
    const plan = planOf(message);
    const init: Plain = {};
    for (const [name, value] of Object.entries(plain)) {
      if (value === undefined) continue;
      const field = plan.get(name);
      if (field === undefined) throw new Error(`${message.typeName} has no field ${name}`);
      init[field.localName] = field.encode(value);
    }
    return create(message, init as never);
  };

  const decode = (message: DescMessage, value: Message): object => {
    const plain: Plain = {};
    for (const field of planOf(message).values()) {
      const raw = (value as unknown as Plain)[field.localName];
      if (raw !== undefined) plain[field.plainName] = field.decode(raw);
    }
    return plain;
  };

  return { encode, decode };
}
