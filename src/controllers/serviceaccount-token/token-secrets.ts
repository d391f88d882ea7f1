/** The content of a token secret. Pure. Upstream: tokens_controller.go secretUpdateNeeded, generateTokenIfNeeded. */
import type { Secret, ServiceAccount } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';

/** The type of these secrets. */
export const TOKEN_SECRET_TYPE = 'kubernetes.io/service-account-token';
/** Annotations that name the account. */
export const ACCOUNT_NAME = 'kubernetes.io/service-account.name';
export const ACCOUNT_UID = 'kubernetes.io/service-account.uid';

/** Key of the account a token secret belongs to; undefined when it is no token secret or names none. */
export function accountKeyOf(secret: Stored<Secret>): string | undefined {
  const name = secret.metadata.annotations?.[ACCOUNT_NAME] ?? '';
  return secret.type === TOKEN_SECRET_TYPE && name !== '' ? `${secret.metadata.namespace}/${name}` : undefined;
}

/** Whether the secret belongs to the account with this uid, not to an earlier one of the same name. */
export function belongsTo(secret: Secret, account: ServiceAccount): boolean {
  const uid = secret.metadata.annotations?.[ACCOUNT_UID] ?? '';
  return uid === '' || uid === account.metadata.uid;
}

/** The content of new tokens. */
export interface TokenContent {
  /** '' without an authority: an existing `ca.crt` is then kept. */
  readonly rootCaPem: string;
  readonly token: string;
}

/** Whether the secret lacks its token. */
export function needsToken(secret: Secret): boolean {
  return (secret.data?.['token'] ?? '') === '';
}

/** The secret with all its content; the same object when nothing is missing. */
export function withTokenContent(
  secret: Stored<Secret>,
  account: Stored<ServiceAccount>,
  content: TokenContent,
): Secret {
  const data: Record<string, string> = { ...secret.data };
  const put = (key: string, text: string): void => {
    data[key] = Buffer.from(text).toString('base64');
  };
  if (content.rootCaPem !== '') put('ca.crt', content.rootCaPem);
  if ((data['namespace'] ?? '') === '') put('namespace', secret.metadata.namespace);
  if (needsToken(secret)) put('token', content.token);
  const { name, uid } = account.metadata;
  const annotations = { ...secret.metadata.annotations, [ACCOUNT_NAME]: name, [ACCOUNT_UID]: uid };
  const same =
    Object.entries(data).every(([key, value]) => secret.data?.[key] === value) &&
    secret.metadata.annotations?.[ACCOUNT_UID] === uid;
  return same ? secret : { ...secret, data, metadata: { ...secret.metadata, annotations } };
}
