/**
 * Failures of the library point at the line of the test that made the call: the work itself fails in a later turn of the
 * loop, where the stack knows the library alone. node:test, vitest and jest show the first line of a stack that is the user's.
 */
import { StatusError } from '../api/status-error.ts';
import { hasErrorCode } from '../base/errors.ts';
import { WaitError } from './wait-error.ts';

const asyncFunction = (async () => undefined).constructor;

/** Frames an error had before callers were added to them. */
const innerFrames = new WeakMap<Error, string>();

/** Runs `work`, the body of the function `callee`; what it rejects with shows where `callee` was called. */
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

/** Adds the test's frames to an error; the outermost of nested calls is the test's. */
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

/** Whether the cluster answered so: where in the library it did tells nobody anything. */
function isAnswer(error: Error): boolean {
  return error instanceof StatusError || error instanceof WaitError || hasErrorCode(error, 'ECONNREFUSED');
}

function framesOf(stack: string = ''): string {
  return stack.slice(Math.max(0, stack.search(/^ {4}at /m))).trimEnd();
}

/**
 * Wraps all methods of a class but those named, once, when it is defined: each reports its caller, and `before` is called
 * first with the object and the method's name.
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
