/**
 * Why a sign-in by OpenID Connect failed: a reason for the browser, for which the sign-in page has a text of its own, and one
 * bounded line for the log. Nothing else reaches the browser: otherwise a link could show any text on the sign-in page, and
 * anybody could read the issuer's addresses there.
 */
import { AuthorizationResponseError, ResponseBodyError } from 'oauth4webapi';
import { errorMessage } from '../../../base/errors.ts';

/**
 * - `stale`: the callback belongs to no sign-in of this browser.
 * - `denied`: the issuer answers that its user or a rule denies it.
 * - `issuer`: the issuer cannot be reached, refuses, or answers what cannot be used.
 * - `rejected`: the API server does not accept the ID token.
 * - `busy`: too many sign-ins at the same time.
 * - `address`: the console does not sign in at the address by which the browser came.
 */
type SignInFailure = 'stale' | 'denied' | 'issuer' | 'rejected' | 'busy' | 'address';

/** A failure that is not the issuer's. */
export class SignInError extends Error {
  override readonly name = 'SignInError';
  readonly reason: SignInFailure;

  constructor(reason: SignInFailure, message: string) {
    super(message);
    this.reason = reason;
  }
}

const MAX_CHARACTERS = 300;

/** Where the browser is sent. The console's page has a text for each reason. */
export function failurePath(reason: SignInFailure): string {
  return `/console/#oidc=${reason}`;
}

export function failureOf(error: unknown): SignInFailure {
  if (error instanceof SignInError) return error.reason;
  return error instanceof AuthorizationResponseError && error.error === 'access_denied' ? 'denied' : 'issuer';
}

/** For the log; parts of it are texts of the issuer. */
export function failureText(host: string, error: unknown): string {
  const isRefusal = error instanceof AuthorizationResponseError || error instanceof ResponseBodyError;
  const reason = isRefusal
    ? [error.error, error.error_description].filter((part) => part !== undefined && part !== '').join(': ')
    : errorMessage(error);
  return plainLine(`${host}: ${reason}`);
}

/** Without control characters and marks that turn the direction of text. */
function plainLine(text: string): string {
  const plain = text.slice(0, 10 * MAX_CHARACTERS).replaceAll(/[\p{C}\p{Z}]+/gu, ' ');
  const characters = [...plain.trim()];
  return characters.length <= MAX_CHARACTERS ? characters.join('') : `${characters.slice(0, MAX_CHARACTERS).join('')}…`;
}
