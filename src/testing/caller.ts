/**
 * Makes failures of the library point at the line of the test that made the call: the error arises in a later turn of the event
 * loop, whose stack contains only the library. node:test, vitest and jest show the first line of a stack that belongs to the
 * user.
 */
import { StatusError } from '../api/status-error.ts';
import { hasErrorCode } from '../base/errors.ts';
import { WaitError } from './wait-error.ts';

const asyncFunction = (async () => undefined).constructor;

/** The frames of an error before callers were added. */
const innerFrames = new WeakMap<Error, string>();

/** Runs `work`, the body of the function `callee`; an error that it rejects with shows where `callee` was called. */
export function withCaller<T>(callee: (...values: never[]) => unknown, work: () => T): T {
  const place: { stack?: string } = {};
  Error.captureStackTrace(place, callee);
  const result = work();
  if (!(result instanceof Promise)) return result;
  return result.catch((error: unknown) => {
    if (error instanceof Error) addCaller(error, framesOf(place.stack));
    throw error;
  }) as T;
}

/** Adds the test's frames to an error; of nested calls the outermost is the test's. */
function addCaller(error: Error, callers: string): void {
  const inner = innerFrames.get(error) ?? framesOf(error.stack);
  innerFrames.set(error, inner);
  const frames = isAnswer(error) ? [callers] : [inner, ...(inner.includes(firstLine(callers)) ? [] : [callers])];
  const value = [`${error.name}: ${error.message}`, ...frames.filter((text) => text !== '')].join('\n');
  Reflect.defineProperty(error, 'stack', { value, configurable: true, writable: true });
}

function firstLine(frames: string): string {
  return frames.split('\n', 1)[0] ?? '';
}

/** Whether the error is a response of the cluster, for which frames of the library are useless. */
function isAnswer(error: Error): boolean {
  return error instanceof StatusError || error instanceof WaitError || hasErrorCode(error, 'ECONNREFUSED');
}

function framesOf(stack: string = ''): string {
  return stack.slice(Math.max(0, stack.search(/^ {4}at /m))).trimEnd();
}

/**
 * Wraps all methods of a class except the named ones, once, at its definition: each adds its caller to errors, and calls `before`
 * with the object and the method's name first.
 */
export function reportCallers<T extends object>(
  { prototype }: { readonly prototype: T },
  before: (object: T, method: string) => void,
  except: readonly string[] = [],
): void {
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    if (typeof value !== 'function' || name === 'constructor' || except.includes(name)) continue;
    const method = value as (...values: unknown[]) => unknown;
    const reporting =
      method.constructor === asyncFunction
        ? function (this: T, ...values: unknown[]): unknown {
            return withCaller(reporting, async () => {
              before(this, name);
              return await method.apply(this, values);
            });
          }
        : function (this: T, ...values: unknown[]): unknown {
            before(this, name);
            return withCaller(reporting, () => method.apply(this, values));
          };
    Object.defineProperty(prototype, name, { value: reporting, configurable: true, writable: true });
  }
}
