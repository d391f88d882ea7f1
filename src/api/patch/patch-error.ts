// Why a patch was refused. Upstream spreads these over several packages; the handler only needs the code and the text.

/** The code a refused patch is answered with; upstream gives 500 for what its strategic merge does not foresee. */
export type PatchErrorCode = 400 | 413 | 422 | 500;

/** A patch that cannot be applied. */
export class PatchError extends Error {
  override readonly name = 'PatchError';
  /** 400 for a malformed patch, 413 for too large a one, 422 for one that does not apply to the object. */
  readonly code: PatchErrorCode;
  constructor(code: PatchErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
