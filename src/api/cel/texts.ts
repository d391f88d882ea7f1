/** Errors of compilation and evaluation with cel-go's texts. Users see them in conditions and admission messages. */
import { bounded, CostExceededError, PER_CALL_LIMIT } from './meter.ts';
import { FunctionError } from './runtime/values.ts';

/** An error of an expression that does not compile. */
export class CompileError extends Error {}

/** An evaluation that failed. */
export class RuntimeError extends Error {
  /** Whether the meter's limit was exceeded. */
  readonly costExceeded: boolean;

  constructor(message: string, costExceeded = false, options?: ErrorOptions) {
    super(message, options);
    this.costExceeded = costExceeded;
  }
}

/** Wraps an error of the evaluation. Rethrows errors that are bugs of this program. */
export function runtimeError(error: unknown): RuntimeError {
  if (error instanceof RuntimeError) return error;
  if (error instanceof CostExceededError) return new RuntimeError(error.message, true);
  if (error instanceof FunctionError) return new RuntimeError(error.message);
  // Exhausted stacks and values beyond JavaScript's size limits: such an expression fails alone.
  if (error instanceof RangeError || error instanceof TypeError)
    return new RuntimeError(`internal error: ${error.message}`, false, { cause: error });
  throw error;
}

/** Traverses a value outside an evaluation, within the cost limit of one. Throws {@link RuntimeError}. */
export function withinLimit<T>(run: () => T): T {
  try {
    return bounded(PER_CALL_LIMIT, run);
  } catch (error) {
    throw runtimeError(error);
  }
}
