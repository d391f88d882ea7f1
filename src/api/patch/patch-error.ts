// The error of a refused patch. Upstream has several such errors in several packages; the handler only needs the code and the
// text.

/** The status code of a refused patch. Upstream returns 500 for cases that its strategic merge does not handle. */
export type PatchErrorCode = 400 | 413 | 422 | 500;

/** The error of a patch that cannot be applied. */
export class PatchError extends Error {
  override readonly name = 'PatchError';
  /** 400 for a malformed patch, 413 for one that is too large, 422 for one that cannot be applied to the object. */
  readonly code: PatchErrorCode;
  constructor(code: PatchErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
