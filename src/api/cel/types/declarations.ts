/**
 * Declarations of functions: each overload has a signature such as `string.find(string): string`, which is also its name
 * for cost tables. Upstream: cel-go common/decls.
 */
import { DYN_TYPE, listOf, mapOf, optionalOf, paramType, SIMPLE_TYPES, type Type, typeOfType } from './type.ts';

/** A function of the language. Its arguments are values, the receiver first. Throws `FunctionError`. */
// oxlint-disable-next-line typescript/no-explicit-any -- the checker or the dispatcher compares arguments with the signature
export type Handler = (...args: any[]) => unknown;

/** One signature of a function. */
export interface Overload {
  readonly signature: string;
  readonly isMember: boolean;
  /** Argument types, the receiver's first. */
  readonly args: readonly Type[];
  readonly result: Type;
  /** Names of the type parameters. */
  readonly params: readonly string[];
  readonly handler: Handler;
}

export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
  /** A handler for all overloads, which checks its arguments itself. */
  readonly common?: Handler;
}

/** Types by their names in signatures: `duration`, not `google.protobuf.Duration`. */
const NAMED: ReadonlyMap<string, Type> = new Map([...SIMPLE_TYPES, DYN_TYPE].map((type) => [type.kind, type]));

const SIGNATURE = /^(?:([\w.<>, ]+?)\.)?([@\w]+)\((.*)\): (.+)$/;
const NAMESPACED = /^([\w.]+\.[@\w]+)\((.*)\): (.+)$/;

/** Collects declarations and the types they use. */
export class Declarations {
  readonly functions = new Map<string, FunctionDeclaration>();
  readonly #types = new Map<string, Type>();

  /** Makes a type available to signatures by its name. */
  addType(type: Type): void {
    this.#types.set(type.name, type);
  }

  /** Adds functions and methods by signature. */
  define(functions: Readonly<Record<string, Handler>>): void {
    for (const [signature, handler] of Object.entries(functions)) {
      const [, receiver, name = '', params = '', result = ''] = SIGNATURE.exec(signature) ?? malformed(signature);
      const types = [...(receiver === undefined ? [] : [receiver]), ...splitTypes(params)];
      this.#add(name, this.#overload(signature, types, { result, handler, isMember: receiver !== undefined }));
    }
  }

  /** Adds functions with dotted names: `sets.contains(list<T>, list<T>): bool`. */
  defineNamespaced(functions: Readonly<Record<string, Handler>>): void {
    for (const [signature, handler] of Object.entries(functions)) {
      const [, name = '', params = '', result = ''] = NAMESPACED.exec(signature) ?? malformed(signature);
      this.#add(name, this.#overload(signature, splitTypes(params), { result, handler, isMember: false }));
    }
  }

  /** Adds a function whose overloads share a handler. */
  defineCommon(name: string, handler: Handler, signatures: readonly string[]): void {
    for (const signature of signatures) {
      const isMember = signature.startsWith('.');
      const [, params = '', result = ''] = /^\.?\((.*)\): (.+)$/.exec(signature) ?? malformed(signature);
      const overload = this.#overload(`${name}${signature}`, splitTypes(params), {
        result,
        handler,
        isMember,
      });
      this.#add(name, overload, handler);
    }
  }

  #overload(
    signature: string,
    types: readonly string[],
    { result, handler, isMember }: { result: string; handler: Handler; isMember: boolean },
  ): Overload {
    const params = new Set<string>();
    const read = (text: string): Type => this.#typeOf(text, params);
    return {
      signature,
      isMember,
      args: types.map(read),
      result: read(result),
      params: [...params],
      handler,
    };
  }

  #add(name: string, overload: Overload, common?: Handler): void {
    const functionDeclaration = this.functions.get(name);
    const overloads = [...(functionDeclaration?.overloads ?? []), overload];
    this.functions.set(name, { name, overloads, common });
  }

  #typeOf(text: string, params: Set<string>): Type {
    const named = NAMED.get(text) ?? this.#types.get(text);
    if (named !== undefined) return named;
    if (/^[A-Z]$/.test(text)) {
      params.add(text);
      return paramType(text);
    }
    const [, name, inner = ''] = /^(list|map|optional|type)<(.+)>$/.exec(text) ?? malformed(text);
    const [first, second] = splitTypes(inner).map((each) => this.#typeOf(each, params));
    if (name === 'list') return listOf(first!);
    if (name === 'map') return mapOf(first!, second!);
    return name === 'type' ? typeOfType(first!) : optionalOf(first!);
  }
}

function malformed(signature: string): never {
  throw new Error(`malformed signature ${signature}`);
}

/** Splits at commas that are outside angle brackets. */
function splitTypes(text: string): string[] {
  const types: string[] = [];
  let [depth, start] = [0, 0];
  for (let index = 0; index <= text.length; index++) {
    const char = text[index];
    if (char === '<') depth++;
    if (char === '>') depth--;
    if ((char === ',' && depth === 0) || (index === text.length && text !== '')) {
      types.push(text.slice(start, index).trim());
      start = index + 1;
    }
  }
  return types;
}
