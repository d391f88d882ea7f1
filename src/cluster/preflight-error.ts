/** The machine or the options are unsuitable; the message is for the user. */
export class PreflightError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PreflightError';
  }
}
