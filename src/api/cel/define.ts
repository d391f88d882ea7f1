/**
 * Declares functions in an environment. A name that begins with `@` replaces one of the evaluator's own: expressions
 * cannot spell it, and calls are renamed to it after parsing (prepare.ts).
 */
import type { Environment } from '@marcbachmann/cel-js';
import { EQUALS, FunctionError } from './values.ts';

/** A function of the language; arguments come as values, the receiver first. */
// oxlint-disable-next-line typescript/no-explicit-any -- the evaluator checks arguments against the signature
export type Handler = (...args: any[]) => unknown;

const SIGNATURE = /^(?:([\w.<>, ]+?)\.)?(@?\w+)\((.*)\): (.+)$/;

/** Declares functions: `string.find(string): string` → handler. */
export function define(environment: Environment, functions: Readonly<Record<string, Handler>>): void {
  for (const [signature, handler] of Object.entries(functions)) {
    const match = SIGNATURE.exec(signature);
    if (match === null) throw new Error(`malformed signature ${signature}`);
    const [, receiverType, name = '', params = '', returnType = ''] = match;
    const declare = (receiver: string | undefined, returns: string, run: Handler = handler): void => {
      environment.registerFunction({
        name,
        ...(receiver === undefined ? {} : { receiverType: receiver }),
        returnType: returns,
        params: splitTypes(params).map((type) => ({ type })),
        handler: run,
        async: false,
      } as never);
    };
    declare(receiverType, returnType);
    // On a receiver of unknown type the evaluator takes what all overloads return: with a type parameter among them this
    // one, which no value is meant for, makes it dyn.
    if (/\bA\b/.test(returnType) && receiverType !== undefined) declare('null', 'dyn', noOverload);
  }
}

function noOverload(): never {
  throw new FunctionError('no such overload');
}

/** Splits at commas outside angle brackets. */
function splitTypes(text: string): string[] {
  const types: string[] = [];
  let depth = 0;
  let start = 0;
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

/** Declares a namespace such as `sets` or `math`: a value whose methods are its functions. */
export function defineNamespace(
  environment: Environment,
  name: string,
  functions: Readonly<Record<string, Handler>>,
): void {
  const type = `${name}.namespace`;
  const Namespace = class {};
  environment.registerType(type, { ctor: Namespace, fields: {} } as never);
  environment.registerConstant(name, type as never, new Namespace() as never);
  const methods = Object.entries(functions).map(([signature, handler]): [string, Handler] => [
    `${type}.${signature}`,
    (_namespace, ...args) => handler(...args),
  ]);
  define(environment, Object.fromEntries(methods));
}

/** Declares an opaque type with equality and `type()`. */
export function defineType(
  environment: Environment,
  name: string,
  ctor: new (...args: never[]) => { [EQUALS](other: never): boolean },
): void {
  environment.registerType(name, { ctor, fields: {} } as never);
  environment.registerOperator(`${name} == ${name}`, ((a: { [EQUALS](o: unknown): boolean }, b: unknown) =>
    a[EQUALS](b)) as never);
}
