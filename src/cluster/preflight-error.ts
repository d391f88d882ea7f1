/** The machine, or what was asked for, is not fit; the text is for the user. */
export class PreflightError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PreflightError';
  }
}
