/**
 * Static tokens from a file: `token,user,uid,"group1,group2"`, one per line. Upstream:
 * authentication/token/tokenfile.
 */
import type { Principal } from '../../api/transport.ts';
import type { TokenAuthenticator } from './bearer-token.ts';
import { AUTHENTICATED_GROUP } from './client-certificate.ts';

/** Throws for an invalid line. */
export function createTokenFileAuthenticator(text: string): TokenAuthenticator {
  const principals = new Map<string, Principal>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [token = '', name = '', uid = '', groups = ''] = columnsOf(line);
    if (name === '' || uid === '')
      throw new Error(
        `token file must have at least 3 columns (token, user name, user uid), found fewer in line ${index + 1}`,
      );
    if (token === '') throw new Error(`empty token found in token file, record number: ${index + 1}`);
    const listed = groups
      .split(',')
      .map((group) => group.trim())
      .filter((group) => group !== '');
    principals.set(token, { name, uid, groups: [...new Set([...listed, AUTHENTICATED_GROUP])] });
  }
  return { authenticateToken: async (token) => principals.get(token) };
}

/** Splits comma-separated values; commas in quotes are kept, doubled quotes become one. */
function columnsOf(line: string): string[] {
  const columns: string[] = [];
  for (const [, quoted, plain] of `,${line}`.matchAll(/,\s*(?:"((?:[^"]|"")*)"|([^,]*))/g))
    columns.push(quoted === undefined ? (plain ?? '').trim() : quoted.replaceAll('""', '"'));
  return columns;
}
