/**
 * Upstream's error text of a whole value: its internal type, printed with Go's field names and all fields. Types of meta/v1 have
 * no internal form. Upstream: apimachinery/pkg/util/validation/field Error.ErrorBody over pkg/apis types.
 */
import { sortedByKey } from '../../base/stable-json.ts';
import type { LabelSelector } from '../gen/meta-v1.ts';
import { typeSchema } from '../schema/schema.ts';
import type { FieldSchema, StructSchema, TypeSchema } from '../schema/type-schema.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Words that Go's field names write in capitals. */
const INITIALS = /^(?:ip|cidr|uid|url|api|csi|cel|tls|ttl|pod ip)(?=$|[A-Z])/;

function goName(name: string): string {
  const initials = INITIALS.exec(name)?.[0];
  const rest = initials === undefined ? name : initials.toUpperCase() + name.slice(initials.length);
  const whole = rest
    .replace(/^cidrs$|Cidrs?(?=$|[A-Z])/g, (word) => (word.endsWith('s') ? 'CIDRs' : 'CIDR'))
    .replace(/Uid$/, 'UID');
  return whole.charAt(0).toUpperCase() + whole.slice(1);
}

const ZEROS: Readonly<Record<string, unknown>> = {
  string: '',
  boolean: false,
  int32: 0,
  int64: 0,
  double: 0,
  quantity: '0',
};

function zeroOf({ type, pointer }: FieldSchema): unknown {
  if (pointer || type.kind === 'list' || type.kind === 'map' || type.kind === 'any') return null;
  return type.kind === 'struct' ? shown({}, type) : (ZEROS[type.scalar] ?? null);
}

/** Protobuf numbers follow the order in which the fields are declared. */
function inGoOrder(type: StructSchema): readonly FieldSchema[] {
  return [...type.fields.values()].toSorted((a, b) => (a.pb[0] ?? 0) - (b.pb[0] ?? 0));
}

function shownStruct(value: Fields, type: StructSchema): Fields {
  if (type.name.startsWith('meta.')) return shownMeta(value, type);
  const entries = inGoOrder(type).map((field) => {
    const own = value[field.name];
    return [goName(field.name), own === undefined || own === null ? zeroOf(field) : shown(own, field.type)] as const;
  });
  return Object.fromEntries(entries);
}

/** Types of meta/v1 are printed as JSON, without empty fields. */
function shownMeta(value: Fields, type: StructSchema): Fields {
  const entries = inGoOrder(type).flatMap((field) => {
    const own = value[field.name];
    const isEmpty = own === undefined || own === null || (Array.isArray(own) && own.length === 0);
    return isEmpty ? [] : [[field.name, shown(own, field.type)] as const];
  });
  return Object.fromEntries(entries);
}

function shown(value: unknown, type: TypeSchema): unknown {
  switch (type.kind) {
    // After decoding, absent and empty lists are the same.
    case 'list':
      if ((value as readonly unknown[]).length === 0) return null;
      return (value as readonly unknown[]).map((item) => shown(item, type.items));
    case 'map':
      return Object.fromEntries(
        Object.entries(sortedByKey(value as object)).map(([key, item]) => [key, shown(item, type.values)]),
      );
    case 'struct':
      return shownStruct(value as Fields, type);
    default:
      return value;
  }
}

/** The text of a selector in errors. */
export function shownSelector(selector: LabelSelector | undefined): unknown {
  return selector === undefined ? null : internalForm(selector, 'meta.v1.LabelSelector');
}

/** The text of a map in errors: sorted by key. */
export function shownMap(map: Readonly<Record<string, unknown>> | undefined): unknown {
  return map === undefined ? null : sortedByKey(map);
}

/** `typeName`: the name in the schema tables, such as `apps.v1.DeploymentStrategy`. */
export function internalForm(value: object, typeName: string): unknown {
  return shown(value, typeSchema(typeName));
}
