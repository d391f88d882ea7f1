/** Texts of errors, worded as cel-go words them: they reach users in conditions and admission messages. */
import { bounded, CostExceededError, PER_CALL_LIMIT } from './meter.ts';
import { FunctionError } from './runtime/values.ts';

/** An expression that does not compile. */
export class CompileError extends Error {}

/** An evaluation that failed. */
export class RuntimeError extends Error {
  /** The meter's limit was passed. */
  readonly costExceeded: boolean;

  constructor(message: string, costExceeded = false, options?: ErrorOptions) {
    super(message, options);
    this.costExceeded = costExceeded;
  }
}

/** What a failed evaluation says. */
export function runtimeError(error: unknown): RuntimeError {
  if (error instanceof RuntimeError) return error;
  if (error instanceof CostExceededError) return new RuntimeError(error.message, true);
  if (error instanceof FunctionError) return new RuntimeError(error.message);
  // Exhausted stacks, and what is beyond JavaScript's sizes: an expression must not bring down its request's server.
  if (error instanceof RangeError || error instanceof TypeError)
    return new RuntimeError(`internal error: ${error.message}`, false, { cause: error });
  throw error;
}

/** Walks through a value outside an evaluation, within the limit of one. Throws {@link RuntimeError}. */
export function withinLimit<T>(run: () => T): T {
  try {
    return bounded(PER_CALL_LIMIT, run);
  } catch (error) {
    throw runtimeError(error);
  }
}
