/**
 * How upstream shows a whole value: as its internal type, whose fields have Go's names and are all there. Types of
 * meta/v1 have no internal form. Upstream: apimachinery/pkg/util/validation/field Error.ErrorBody over pkg/apis types.
 */
import { typeSchema } from '../schema/schema.ts';
import type { FieldSchema, StructSchema, TypeSchema } from '../schema/type-schema.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Words that Go spells in capitals. */
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

/** Fields have their numbers in the order in which they were declared. */
function inGoOrder(type: StructSchema): readonly FieldSchema[] {
  return [...type.fields.values()].toSorted((a, b) => (a.pb[0] ?? 0) - (b.pb[0] ?? 0));
}

function shownStruct(value: Fields, type: StructSchema): Fields {
  if (type.name.startsWith('meta.')) return value;
  const entries = inGoOrder(type).map((field) => {
    const own = value[field.name];
    return [goName(field.name), own === undefined || own === null ? zeroOf(field) : shown(own, field.type)] as const;
  });
  return Object.fromEntries(entries);
}

function shown(value: unknown, type: TypeSchema): unknown {
  switch (type.kind) {
    // What a client left out and what it left empty look alike once decoded.
    case 'list':
      if ((value as readonly unknown[]).length === 0) return null;
      return (value as readonly unknown[]).map((item) => shown(item, type.items));
    case 'map':
      return Object.fromEntries(Object.entries(value as object).map(([key, item]) => [key, shown(item, type.values)]));
    case 'struct':
      return shownStruct(value as Fields, type);
    default:
      return value;
  }
}

/** `typeName` as the schema tables have it: `apps.v1.DeploymentStrategy`. */
export function internalForm(value: object, typeName: string): unknown {
  return shown(value, typeSchema(typeName));
}
