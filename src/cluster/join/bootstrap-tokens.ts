/**
 * Bootstrap tokens as Secrets: creates, lists and deletes them with an administrator's client. Upstream: kubeadm
 * token.
 */
import { tokenField } from '../../component-helpers/token-secrets.ts';
import { Secrets } from '../../api/gen/resources.ts';
import type { Secret } from '../../api/gen/core-v1.ts';
import { isReason } from '../../api/status-error.ts';
import { formatTime } from '../../api/time.ts';
import type { Client } from '../../client/client.ts';
import type { Random } from '../../platform/random.ts';

const NAMESPACE = 'kube-system';
const TYPE = 'bootstrap.kubernetes.io/token';
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';
const TOKEN = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;

/** The rights of a token and its expiry. */
export interface BootstrapTokenOrder {
  /** `<id>.<secret>`; random when absent. */
  readonly token?: string;
  /** Absent: it does not expire. */
  readonly expiresAtMs?: number;
  readonly description?: string;
  readonly groups: readonly string[];
}

/** A token in a listing. */
export interface BootstrapTokenInfo {
  readonly token: string;
  readonly expiration: string;
  readonly usages: readonly string[];
  readonly description: string;
  readonly groups: readonly string[];
}

/** Creates a token in the cluster; resolves to `<id>.<secret>`. */
export async function createBootstrapToken(
  client: Client,
  random: Random,
  { token = newToken(random), expiresAtMs, description, groups }: BootstrapTokenOrder,
): Promise<string> {
  const [, id = '', secret = ''] = TOKEN.exec(token) ?? [];
  if (id === '') throw new Error('a token is <id>.<secret>: 6 and 16 lower case letters and digits');
  await client.resource(Secrets).create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: NAMESPACE, name: `bootstrap-token-${id}` },
    type: TYPE,
    stringData: {
      'token-id': id,
      'token-secret': secret,
      'usage-bootstrap-authentication': 'true',
      'usage-bootstrap-signing': 'true',
      ...(groups.length === 0 ? {} : { 'auth-extra-groups': groups.join(',') }),
      ...(description === undefined ? {} : { description }),
      ...(expiresAtMs === undefined ? {} : { expiration: formatTime(expiresAtMs) }),
    },
  });
  return token;
}

/** All tokens. */
export async function listBootstrapTokens(client: Client): Promise<readonly BootstrapTokenInfo[]> {
  const { items } = await client.resource(Secrets).list({ namespace: NAMESPACE, fieldSelector: `type=${TYPE}` });
  return items.filter((secret) => secret.type === TYPE).map(infoOf);
}

/** Deletes a token by `<id>` or whole token. False: there is none. */
export async function deleteBootstrapToken(client: Client, idOrToken: string): Promise<boolean> {
  const id = idOrToken.split('.')[0] ?? '';
  if (!/^[a-z0-9]{6}$/.test(id))
    throw new Error(`${JSON.stringify(id)} is no token's id: 6 lower case letters and digits`);
  try {
    await client.resource(Secrets).delete({ namespace: NAMESPACE, name: `bootstrap-token-${id}` });
    return true;
  } catch (error) {
    if (isReason(error, 'NotFound')) return false;
    throw error;
  }
}

function infoOf(secret: Secret): BootstrapTokenInfo {
  const field = (name: string): string => tokenField(secret, name);
  return {
    token: `${field('token-id')}.${field('token-secret')}`,
    expiration: field('expiration'),
    usages: ['authentication', 'signing'].filter((usage) => field(`usage-bootstrap-${usage}`) === 'true'),
    description: field('description'),
    groups: field('auth-extra-groups')
      .split(',')
      .filter((group) => group !== ''),
  };
}

function newToken(random: Random): string {
  const characters = (count: number): string => {
    let text = '';
    // Bytes beyond a multiple of the alphabet's length would favour the first letters, and are skipped.
    while (text.length < count)
      for (const byte of random.bytes(count)) if (byte < 252 && text.length < count) text += ALPHABET[byte % 36] ?? '';
    return text;
  };
  return `${characters(6)}.${characters(16)}`;
}
