/**
 * Object literals, `Object.spec{replicas: 3}` and `JSONPatch{op: "add"}`, which the evaluator's grammar lacks: before parsing
 * they become calls of a function on a type name and a map, and positions of errors are told in the text as it was written.
 * Upstream: cel-go's message construction with apiserver/pkg/cel/mutation.
 */
import type { Environment } from '@marcbachmann/cel-js';
import { Optional } from '@marcbachmann/cel-js';
import { define, defineType } from './define.ts';
import type { CelObject } from './values.ts';
import { EQUALS, TO_JSON, celEquals, FunctionError, isMapValue, jsonValue, mapEntries } from './values.ts';

/** Type of apply configurations, whatever place of an object they are for. */
export const OBJECT_TYPE = 'Object';
/** Type of one operation of a JSON patch. */
export const JSON_PATCH_TYPE = 'JSONPatch';

/** An apply configuration, or a part of one. */
export class ObjectLiteral implements CelObject {
  /** Where in an object it belongs, as the expression says: `Object.spec`. */
  readonly typeName: string;
  readonly fields: ReadonlyMap<string, unknown>;

  constructor(typeName: string, fields: ReadonlyMap<string, unknown>) {
    this.typeName = typeName;
    this.fields = fields;
  }

  [EQUALS](other: ObjectLiteral): boolean {
    return this.typeName === other.typeName && celEquals(this.fields, other.fields);
  }

  [TO_JSON](): unknown {
    return jsonValue(this.fields);
  }

  /** Throws {@link FunctionError} when a part's type name is not that of its place. */
  checkPlace(place: string = OBJECT_TYPE): void {
    if (this.typeName !== place)
      throw new FunctionError(
        `unexpected type name ${JSON.stringify(this.typeName)}, expected ${JSON.stringify(place)}, which matches field name path from root Object type`,
      );
    for (const [name, value] of this.fields) checkParts(value, `${place}.${name}`);
  }
}

function checkParts(value: unknown, place: string): void {
  if (value instanceof ObjectLiteral) value.checkPlace(place);
  else if (Array.isArray(value)) for (const item of value) checkParts(item, place);
}

class JsonPatchLiteral implements CelObject {
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

const OBJECT_FUNCTION = 'objectLiteral__';
const PATCH_FUNCTION = 'jsonPatchLiteral__';
const PATCH_FIELDS = new Set(['op', 'path', 'from', 'value']);

/** Declares the types, what literals become, and `jsonpatch.escapeKey`'s companions. */
export function defineObjectLiterals(environment: Environment): void {
  defineType(environment, OBJECT_TYPE, ObjectLiteral);
  defineType(environment, JSON_PATCH_TYPE, JsonPatchLiteral);
  define(environment, {
    [`${OBJECT_FUNCTION}(string, map): ${OBJECT_TYPE}`]: (typeName: string, fields: object) =>
      new ObjectLiteral(typeName, presentFields(fields)),
    [`${PATCH_FUNCTION}(string, map): ${JSON_PATCH_TYPE}`]: (_typeName: string, fields: object) => {
      const present = presentFields(fields);
      for (const name of present.keys())
        if (!PATCH_FIELDS.has(name)) throw new FunctionError(`undefined field '${name}'`);
      return new JsonPatchLiteral(present);
    },
  });
}

/** Fields written `?name: optional` are there when the optional has a value. */
function presentFields(fields: object): Map<string, unknown> {
  const present = new Map<string, unknown>();
  if (!isMapValue(fields)) return present;
  for (const [key, value] of mapEntries(fields)) {
    const name = String(key);
    if (!name.startsWith('?')) present.set(name, value);
    else if (!(value instanceof Optional)) throw new FunctionError('no such overload');
    else if (value.hasValue()) present.set(name.slice(1), value.value());
  }
  return present;
}

/** An expression without literals, and where its characters came from. */
export interface Rewritten {
  readonly text: string;
  /** The offset in the expression as written. */
  originalOffset(offset: number): number;
}

const TOKEN =
  /\s+|\/\/[^\n]*|[rR]?[bB]?[rR]?(?:"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|[A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*)*|`[^`\n]*`|\d[\w.]*|[\s\S]/g;
const PATH = /^(Object|JSONPatch)(?:\.\w+)*$/;

/** Replaces literals. What is malformed is left to the parser. */
export function rewriteLiterals(expression: string): Rewritten {
  if (!expression.includes('{')) return { text: expression, originalOffset: (offset) => offset };
  const rewriter = new Rewriter();
  const tokens = [...expression.matchAll(TOKEN)].map((match) => ({ text: match[0], at: match.index }));
  for (const [index, token] of tokens.entries()) rewriter.take(token, nextSolid(tokens, index));
  return rewriter.result();
}

interface Token {
  readonly text: string;
  readonly at: number;
}

function nextSolid(tokens: readonly Token[], index: number): string {
  for (let next = index + 1; next < tokens.length; next++) {
    const { text } = tokens[next]!;
    if (!/^(?:\s|\/\/)/.test(text)) return text;
  }
  return '';
}

class Rewriter {
  readonly #pieces: { readonly from: number; readonly at: number }[] = [];
  readonly #open: ('literal' | 'other')[] = [];
  #text = '';
  #expectsKey = false;
  #type: string | undefined;
  #optional = false;

  take({ text, at }: Token, next: string): void {
    const path = text.replaceAll(/\s/g, '');
    if (/^(?:\s|\/\/)/.test(text)) this.#emit(text, at);
    else if (this.#expectsKey && text === '?') this.#optional = true;
    else if (this.#expectsKey && next === ':' && /^[A-Za-z_`]/.test(text)) this.#key(text, at);
    else if (next === '{' && PATH.test(path)) this.#begin(path, at);
    else if (text === '{' || text === '[' || text === '(') this.#push(text, at);
    else if (text === '}' || text === ']' || text === ')') this.#pop(text, at);
    else {
      this.#emit(text, at);
      this.#expectsKey = text === ',' && this.#open.at(-1) === 'literal';
    }
  }

  result(): Rewritten {
    const pieces = this.#pieces;
    return {
      text: this.#text,
      originalOffset(offset) {
        const piece = pieces.findLast(({ from }) => from <= offset);
        return piece === undefined ? offset : piece.at + Math.max(0, offset - piece.from);
      },
    };
  }

  #emit(text: string, at: number): void {
    this.#pieces.push({ from: this.#text.length, at });
    this.#text += text;
  }

  #begin(path: string, at: number): void {
    const name = path.startsWith(JSON_PATCH_TYPE) ? PATCH_FUNCTION : OBJECT_FUNCTION;
    this.#type = path;
    this.#emit(`${name}(${JSON.stringify(path)}, `, at);
  }

  #push(text: string, at: number): void {
    const isLiteral = text === '{' && this.#type !== undefined;
    this.#type = undefined;
    this.#open.push(isLiteral ? 'literal' : 'other');
    this.#expectsKey = isLiteral;
    this.#emit(text, at);
  }

  #pop(text: string, at: number): void {
    this.#expectsKey = false;
    this.#emit(this.#open.pop() === 'literal' ? `${text})` : text, at);
  }

  #key(text: string, at: number): void {
    const name = text.replaceAll('`', '');
    this.#emit(JSON.stringify(this.#optional ? `?${name}` : name), at);
    this.#optional = false;
    this.#expectsKey = false;
  }
}
