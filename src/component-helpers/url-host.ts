/**
 * Addresses from objects as the host of a URL. Whoever writes an object may not choose the path: a text with `@`, `/`
 * or `?` would change host and path of the URL. Go's net/url keeps host and path apart, so upstream has no such
 * check. Pure.
 */
import { parseIp } from '../base/cidr.ts';

const MAX_NAME_LENGTH = 253;
const NAME = /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*\.?$/i;
/**
 * `URL` parses a name that ends in a number as an IPv4 address, also in forms that parseIp does not know: `10.43.1`,
 * `0x7f.1`.
 */
const ENDS_IN_NUMBER = /(?:^|\.)(?:\d+|0x[0-9a-f]*)\.?$/i;

/** An IP address or host name as it appears in URLs; undefined for any other text. */
export function urlHost(address: string): string | undefined {
  if (parseIp(address) !== undefined) return address.includes(':') ? `[${address}]` : address;
  const isName = address.length <= MAX_NAME_LENGTH && NAME.test(address) && !ENDS_IN_NUMBER.test(address);
  return isName ? address : undefined;
}
