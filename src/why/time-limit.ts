/** The reason with which a signal aborts when an answer has taken as long as it may. */
export class OutOfTimeError extends Error {
  constructor(ms: number) {
    super(`the explanation took longer than ${ms / 1000} s`);
    this.name = 'OutOfTimeError';
  }
}

/** Whether an answer may be given with what was found so far. */
export function isOutOfTime(error: unknown): boolean {
  return error instanceof OutOfTimeError;
}
