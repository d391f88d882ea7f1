/**
 * What a browser takes as said by the whole origin, whichever answer says it: ends sessions and clears data, leads further
 * requests elsewhere, reports them to others, says who is signed in.
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
