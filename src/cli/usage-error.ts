/** Errors whose text is for the user: printed as one line without a stack. */

/** The user asked for something impossible or the machine is not fit. `exitCode`: 2 for wrong usage, 1 for the rest. */
export class UserError extends Error {
  readonly exitCode: 1 | 2;
  constructor(message: string, exitCode: 1 | 2 = 1, options?: ErrorOptions) {
    super(message, options);
    this.name = 'UserError';
    this.exitCode = exitCode;
  }
}

/** An error of wrong usage: exit code 2. */
export function wrongUsage(message: string): UserError {
  return new UserError(message, 2);
}
