/** Checks the options with which agents and servers join a cluster. */
import type { Command } from 'commander';
import { errorMessage } from '../base/errors.ts';
import { parseJoinToken, type JoinToken } from '../cluster/join/join-token.ts';
import { UserError } from './usage-error.ts';

/** Options before they are checked. */
export interface RawJoinToken {
  readonly token?: string;
  readonly tokenFile?: string;
  readonly discoveryTokenCaCertHash?: readonly string[];
}

/** Adds the options that give a join token. */
export function withJoinToken(command: Command): Command {
  return command
    .option('--token <token>', 'what keelson token create printed; needed to join, not to start again')
    .option('--token-file <file>', 'reads the token from a file, so that no process list shows it')
    .option('--discovery-token-ca-cert-hash <hashes...>', 'sha256:<hex> of the authority, for tokens without it');
}

/** The join token, if one is given. Throws `UserError` with exit code 2. */
export async function readJoinToken(raw: RawJoinToken): Promise<JoinToken | undefined> {
  const { token, tokenFile, discoveryTokenCaCertHash } = raw;
  if (token !== undefined && tokenFile !== undefined)
    throw new UserError('--token and --token-file exclude each other', 2);
  let text = token;
  if (tokenFile !== undefined) {
    const { readFile } = await import('node:fs/promises');
    text = (await readFile(tokenFile, 'utf8')).trim();
  }
  if (text === undefined) return undefined;
  try {
    return parseJoinToken(text, discoveryTokenCaCertHash);
  } catch (error) {
    throw new UserError(`--token: ${errorMessage(error)}`, 2);
  }
}

/** URLs of servers, separated by commas. Throws `UserError` with exit code 2. */
export function parseServers(flag: string, list: string): readonly string[] {
  return list.split(',').map((text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url?.protocol !== 'https:' || url.pathname !== '/' || url.search !== '')
      throw new UserError(`${flag}: ${text} is not of the form https://host:port`, 2);
    return `https://${url.hostname}:${url.port === '' ? '443' : url.port}`;
  });
}
