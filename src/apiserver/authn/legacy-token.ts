/**
 * Tokens in secrets of type `kubernetes.io/service-account-token`: signed once, without an expiry, and valid only
 * while the secret contains them and the account exists. Upstream: pkg/serviceaccount/legacy.go.
 */
import type { Secret, ServiceAccount } from '../../api/gen/core-v1.ts';
import { Secrets, ServiceAccounts } from '../../api/gen/resources.ts';
import { unauthorized } from '../../api/status-error.ts';
import { formatTime } from '../../api/time.ts';
import type { Principal } from '../../api/transport.ts';
import { INVALID_SINCE_LABEL, LAST_USED_LABEL } from '../../component-helpers/token-secrets.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { JwtClaims } from './jwt.ts';

/** The issuer in legacy tokens, whatever `--service-account-issuer` says. */
export const LEGACY_ISSUER = 'kubernetes/serviceaccount';

const CLAIM = 'kubernetes.io/serviceaccount/';

/** The claims of an account's token in a secret. */
export function legacyClaims(account: ServiceAccount, secret: Secret): Record<string, string> {
  const { namespace = '', name = '', uid = '' } = account.metadata;
  return {
    iss: LEGACY_ISSUER,
    sub: `system:serviceaccount:${namespace}:${name}`,
    [`${CLAIM}namespace`]: namespace,
    [`${CLAIM}secret.name`]: secret.metadata.name ?? '',
    [`${CLAIM}service-account.name`]: name,
    [`${CLAIM}service-account.uid`]: uid,
  };
}

/**
 * Checks verified claims against the current secret and account, and records the day of use on the secret. Rejects
 * with 401 when either was deleted or the secret has another token by now.
 */
export async function legacyPrincipal(
  claims: JwtClaims,
  token: string,
  living: TokenValidationDeps | undefined,
): Promise<Principal> {
  const claim = (name: string): string => String(claims[`${CLAIM}${name}`] ?? '');
  const [namespace, name] = [claim('namespace'), claim('service-account.name')];
  if (living !== undefined) await requireTokenSecret(living, token, claim);
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    uid: claim('service-account.uid'),
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
  };
}

interface TokenValidationDeps {
  readonly objects: ObjectStore;
  readonly nowMs: number;
}

async function requireTokenSecret(
  { objects, nowMs }: TokenValidationDeps,
  token: string,
  claim: (name: string) => string,
): Promise<void> {
  const namespace = claim('namespace');
  const secret = await objects.getFresh(Secrets, namespace, claim('secret.name'));
  if (secret === undefined || secret.metadata.deletionTimestamp !== undefined)
    throw unauthorized('the secret the token was kept in is gone');
  if (Buffer.from(secret.data?.['token'] ?? '', 'base64').toString('utf8') !== token)
    throw unauthorized('the secret the token was kept in holds another one');
  const invalidSince = secret.metadata.labels?.[INVALID_SINCE_LABEL];
  if (invalidSince !== undefined)
    throw unauthorized(
      `the token in secret ${namespace}/${claim('secret.name')} is marked invalid since ${invalidSince}`,
    );
  const account = objects.get(ServiceAccounts, namespace, claim('service-account.name'));
  if (
    account === undefined ||
    account.metadata.deletionTimestamp !== undefined ||
    account.metadata.uid !== claim('service-account.uid')
  )
    throw unauthorized('the service account of the token is gone');
  await recordUse(objects, secret, nowMs);
}

async function recordUse(objects: ObjectStore, secret: Secret, nowMs: number): Promise<void> {
  const today = formatTime(nowMs).slice(0, 10);
  if (secret.metadata.labels?.[LAST_USED_LABEL] === today) return;
  const { namespace = '', name = '' } = secret.metadata;
  await objects.guaranteedUpdate(Secrets, namespace, name, (stored) => ({
    ...stored,
    metadata: { ...stored.metadata, labels: { ...stored.metadata.labels, [LAST_USED_LABEL]: today } },
  }));
}
