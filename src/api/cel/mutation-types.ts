/**
 * Objects that mutations construct: `Object.spec{replicas: 3}` and `JSONPatch{op: "add"}`. Upstream: apiserver/pkg/cel/mutation
 * and library/jsonpatch.go.
 */
import type { CelEnvironment } from './environment.ts';
import { walkWork } from './meter.ts';
import { celEquals } from './runtime/equality.ts';
import { type CelObject, EQUALS, FunctionError, TO_JSON, TYPE_NAME } from './runtime/values.ts';
import { Declarations } from './types/declarations.ts';
import { DYN_TYPE, STRING_TYPE, structTypeOf, type Type } from './types/type.ts';
import { withinLimit } from './texts.ts';
import { jsonValue } from './values.ts';

/** The type name of apply configurations. */
export const OBJECT_TYPE = 'Object';
/** The type name of one operation of a JSON patch. */
export const JSON_PATCH_TYPE = 'JSONPatch';

/** An apply configuration, or a part of one. */
export class ObjectLiteral implements CelObject {
  /** The path of the literal in its object, as its type name states it: `Object.spec`. */
  readonly [TYPE_NAME]: string;
  readonly fields: ReadonlyMap<string, unknown>;

  constructor(typeName: string, fields: ReadonlyMap<string, unknown>) {
    this[TYPE_NAME] = typeName;
    this.fields = fields;
  }

  [EQUALS](other: ObjectLiteral): boolean {
    return this[TYPE_NAME] === other[TYPE_NAME] && celEquals(this.fields, other.fields);
  }

  [TO_JSON](): unknown {
    return jsonValue(this.fields);
  }

  /** Throws `RuntimeError` when the type name of a nested literal does not match its path. */
  checkPlace(): void {
    withinLimit(() => {
      this.checkPart(OBJECT_TYPE);
    });
  }

  /** `checkPlace` for one nested literal. */
  checkPart(place: string): void {
    if (this[TYPE_NAME] !== place)
      throw new FunctionError(
        `unexpected type name ${JSON.stringify(this[TYPE_NAME])}, expected ${JSON.stringify(place)}, which matches field name path from root Object type`,
      );
    for (const [name, value] of this.fields) checkParts(value, `${place}.${name}`);
  }
}

function checkParts(value: unknown, place: string): void {
  walkWork(1);
  if (value instanceof ObjectLiteral) value.checkPart(place);
  else if (Array.isArray(value)) for (const item of value) checkParts(item, place);
}

class JsonPatchLiteral implements CelObject {
  readonly [TYPE_NAME] = JSON_PATCH_TYPE;
  readonly fields: ReadonlyMap<string, unknown>;

  constructor(fields: ReadonlyMap<string, unknown>) {
    this.fields = fields;
  }

  [EQUALS](other: JsonPatchLiteral): boolean {
    return celEquals(this.fields, other.fields);
  }

  [TO_JSON](): unknown {
    return jsonValue(this.fields);
  }
}

const PATCH_FIELDS: ReadonlyMap<string, Type> = new Map([
  ['op', STRING_TYPE],
  ['path', STRING_TYPE],
  ['from', STRING_TYPE],
  ['value', DYN_TYPE],
]);
const JSON_PATCH = structTypeOf(JSON_PATCH_TYPE, (name) => PATCH_FIELDS.get(name));
const OBJECT_PATH = /^Object(?:\.\w+)*$/;

function typeNamed(name: string): Type | undefined {
  if (name === JSON_PATCH_TYPE) return JSON_PATCH;
  return OBJECT_PATH.test(name) ? structTypeOf(name, () => DYN_TYPE) : undefined;
}

function construct(typeName: string, fields: ReadonlyMap<string, unknown>): CelObject {
  return typeName === JSON_PATCH_TYPE ? new JsonPatchLiteral(fields) : new ObjectLiteral(typeName, fields);
}

/** A copy of an environment with the types of mutations and `jsonpatch.escapeKey`. */
export function withMutationTypes(from: CelEnvironment): CelEnvironment {
  const declarations = new Declarations();
  declarations.defineNamespaced({
    'jsonpatch.escapeKey(string): string': (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1'),
  });
  return {
    ...from,
    functions: new Map([...from.functions, ...declarations.functions]),
    types: { get: (name) => from.types.get(name) ?? typeNamed(name) },
    constructors: { get: (name) => (typeNamed(name) === undefined ? undefined : construct) },
  };
}
