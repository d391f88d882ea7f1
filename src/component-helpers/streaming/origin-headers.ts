/**
 * Response headers that a browser applies to the whole origin: those that clear data, redirect or report requests, or
 * manage sign-in.
 */
export const ORIGIN_HEADERS: ReadonlySet<string> = new Set([
  'accept-ch',
  'alt-svc',
  'clear-site-data',
  'nel',
  'report-to',
  'set-login',
  'strict-transport-security',
]);
