/** Texts and codes of caught values, which need not be Errors. */

/** The text of what was caught. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether what was caught has one of these codes, as the errors of files, sockets and processes do (`ENOENT`). */
export function hasErrorCode(error: unknown, ...codes: readonly string[]): boolean {
  if (typeof error !== 'object' || error === null || !('code' in error)) return false;
  return typeof error.code === 'string' && codes.includes(error.code);
}

/** Rethrows every error except ENOENT: `await files.lstat(path).catch(ignoreMissingFile)`. */
export function ignoreMissingFile(error: unknown): undefined {
  if (!hasErrorCode(error, 'ENOENT')) throw error;
}

/**
 * Several texts as one: a single one without brackets, equal ones only once. Upstream: aggregate.Error
 * (apimachinery's util/errors).
 */
export function aggregateText(texts: readonly string[]): string {
  const distinct = [...new Set(texts)];
  return distinct.length === 1 ? distinct[0]! : `[${distinct.join(', ')}]`;
}

/**
 * An error without a stack, for failures of what clients wrote: making a stack takes longer than most of what fails, one
 * request may fail many thousand times, and nobody reads it.
 */
export class StacklessError extends Error {
  constructor(message: string) {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = limit;
  }
}
