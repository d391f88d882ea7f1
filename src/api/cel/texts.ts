/** Texts of errors, worded as cel-go words them: they reach users in conditions and admission messages. */
import { CostExceededError } from './meter.ts';
import { FunctionError } from './runtime/values.ts';

/** An expression that does not compile. */
export class CompileError extends Error {}

/** An evaluation that failed. */
export class RuntimeError extends Error {
  /** The meter's limit was passed. */
  readonly costExceeded: boolean;

  constructor(message: string, costExceeded = false) {
    super(message);
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
    return new RuntimeError(`internal error: ${error.message}`);
  throw error;
}
