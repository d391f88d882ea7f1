// Why a patch was refused. Upstream spreads these over several packages; the handler only needs the code and the text.

/** A patch that cannot be applied. */
export class PatchError extends Error {
  override readonly name = 'PatchError';
  /** 400 for a malformed patch, 413 for too large a one, 422 for one that does not fit the object. */
  readonly code: 400 | 413 | 422;
  constructor(code: 400 | 413 | 422, message: string) {
    super(message);
    this.code = code;
  }
}
