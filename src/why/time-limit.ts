/** The abort reason of a signal when an explanation has reached its time limit. */
export class OutOfTimeError extends Error {
  constructor(ms: number) {
    super(`the explanation took longer than ${ms / 1000} s`);
    this.name = 'OutOfTimeError';
  }
}

/** Whether the explanation may be returned with what was found so far. */
export function isOutOfTime(error: unknown): boolean {
  return error instanceof OutOfTimeError;
}
