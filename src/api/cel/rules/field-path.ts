/**
 * `fieldPath` of a rule: a simple JSON path relative to the schema that has the rule. Upstream: apiextensions' ValidFieldPath.
 */
import type { JSONSchemaProps } from '../../gen/apiextensions-v1.ts';
import type { Field } from '../../field-error.ts';

/** One step: a property, or a key of a map. */
interface PathStep {
  readonly name: string;
  readonly isProperty: boolean;
}

/** The steps of a path and the schema at its end, which is undefined for `additionalProperties: true`. */
interface FieldPath {
  readonly steps: readonly PathStep[];
  readonly schema: JSONSchemaProps | undefined;
}

const NO_FIELD = 'does not refer to a valid field';
const CUT_OFF = 'unexpected end of JSON path';

/** Parses a path, or returns the reason why it is invalid for the schema. `isPlain`: `['name']` is not allowed. */
export function readFieldPath(path: string, schema: JSONSchemaProps, isPlain = false): FieldPath | string {
  const steps: PathStep[] = [];
  const tokens = tokensOf(path);
  let at: JSONSchemaProps | undefined = schema;
  for (let i = 0; i < tokens.length;) {
    const read = readName(tokens, i, isPlain);
    if (typeof read === 'string') return read;
    const step = enter(at, read.name);
    if (step === undefined) return NO_FIELD;
    if (read.isOpen) {
      const end = tokens[read.next];
      if (end !== ']') return end === undefined ? CUT_OFF : `expected ] but got ${end}`;
    }
    steps.push(step.step);
    at = step.schema;
    i = read.next + (read.isOpen ? 1 : 0);
  }
  return { steps, schema: at };
}

/** The tokens of a path: delimiters, texts in single quotes, and names between delimiters. */
function tokensOf(path: string): string[] {
  return path.match(/'(?:[^'\\]|\\.)*'|[.[\]]|[^.[\]]+/gu) ?? [];
}

interface Name {
  readonly name: string;
  /** True after `[`: the next token must be `]`. */
  readonly isOpen: boolean;
  readonly next: number;
}

function readName(tokens: readonly string[], at: number, isPlain: boolean): Name | string {
  const [first, name] = [tokens[at]!, tokens[at + 1]];
  if (first !== '.' && first !== '[') return `expected [ or . but got: ${first}`;
  if (first === '[' && isPlain) return 'array notation is not allowed';
  if (name === undefined) return CUT_OFF;
  if (first === '.') return { name, isOpen: false, next: at + 2 };
  if (!/^'.*'$/su.test(name) || name.length < 2) return `expected single quoted string but got ${name}`;
  return { name: name.slice(1, -1).replaceAll(/\\(.)/gu, '$1'), isOpen: true, next: at + 2 };
}

function enter(
  schema: JSONSchemaProps | undefined,
  name: string,
): { readonly step: PathStep; readonly schema: JSONSchemaProps | undefined } | undefined {
  const { properties = {}, additionalProperties } = schema ?? {};
  if (Object.keys(properties).length > 0) {
    if (!Object.hasOwn(properties, name)) return undefined;
    return { step: { name, isProperty: true }, schema: properties[name] };
  }
  if (additionalProperties === undefined || additionalProperties === false) return undefined;
  return {
    step: { name, isProperty: false },
    schema: additionalProperties === true ? undefined : additionalProperties,
  };
}

/** The field at the end of a path. */
export function placeOf(field: Field, steps: readonly PathStep[]): Field {
  let place = field;
  for (const { name, isProperty } of steps) place = isProperty ? place.at(name) : place.key(name);
  return place;
}
