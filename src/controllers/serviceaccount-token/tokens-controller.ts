/**
 * Fills secrets of type `kubernetes.io/service-account-token` and removes them with their account. Upstream:
 * pkg/controller/serviceaccount/tokens_controller.go, which also works under the controller manager's own name.
 *
 * Watches: service accounts and secrets of that type. Writes alone: token, CA, namespace and uid annotation of such secrets,
 * their deletion with the account, and accounts' references to secrets that are gone. With `automaticTokenSecrets` also a
 * secret for each account that has none.
 */
import { Secrets, ServiceAccounts } from '../../api/gen/resources.ts';
import { isReason, ignoreNotFound } from '../../api/status-error.ts';
import type { Secret, ServiceAccount } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { retryOnConflict } from '../../client/retry-on-conflict.ts';
import {
  createKeyedLoop,
  informerList,
  isNamespaceTerminating,
  type Controller,
  type ControllerDeps,
} from '../controller.ts';
import {
  ACCOUNT_NAME,
  ACCOUNT_UID,
  accountKeyOf,
  belongsTo,
  completed,
  needsToken,
  TOKEN_SECRET_TYPE,
} from './token-secrets.ts';

const NAME = 'serviceaccount-token-controller';
const BY_ACCOUNT = 'account';

/** Makes the controller; without a signer it does nothing, as upstream's without a private key. */
export function createTokensController(deps: ControllerDeps): Controller {
  const { signServiceAccountToken: sign, rootCaPem = '', automaticTokenSecrets = false } = deps.config;
  if (sign === undefined) return { name: NAME, start: () => Promise.resolve() };
  const { client } = deps;
  const { clock, random } = deps.platform;
  const accounts = deps.informers.informer(ServiceAccounts);
  const secrets = deps.informers.informer(Secrets, { fieldSelector: `type=${TOKEN_SECRET_TYPE}` });
  secrets.addIndex(BY_ACCOUNT, (secret) => [accountKeyOf(secret) ?? '']);
  const informers = informerList(accounts, secrets);
  const secretLoop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'serviceaccount_tokens_secret',
    workers: 2,
    informers,
    sync: syncSecret,
  });
  const accountLoop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'serviceaccount_tokens_service',
    workers: 2,
    informers,
    sync: syncAccount,
  });

  async function syncSecret(key: string, signal: AbortSignal): Promise<void> {
    const secret = secrets.get(parseKey(key));
    const accountKey = secret === undefined ? undefined : accountKeyOf(secret);
    if (secret === undefined || accountKey === undefined || secret.metadata.deletionTimestamp !== undefined) return;
    const account = await accountOf(secret, accountKey, signal);
    if (account === undefined) return await removeSecret(secret, signal);
    const token = needsToken(secret) ? await sign!(account, secret) : '';
    const next = completed(secret, account, { rootCaPem, token });
    if (next === secret) return;
    await client.resource(Secrets).update(next, { signal }).catch(ignoreNotFound);
  }

  /** The cache first; before a secret is removed, the server: the account may have been made a moment ago. */
  async function accountOf(
    secret: Secret,
    key: string,
    signal: AbortSignal,
  ): Promise<Stored<ServiceAccount> | undefined> {
    const cached = accounts.get(parseKey(key));
    if (cached !== undefined && belongsTo(secret, cached)) return cached;
    const live = await client.resource(ServiceAccounts).get(parseKey(key), { signal }).catch(ignoreNotFound);
    return live !== undefined && belongsTo(secret, live) ? live : undefined;
  }

  async function removeSecret(secret: Stored<Secret>, signal: AbortSignal): Promise<void> {
    const { uid, resourceVersion } = secret.metadata;
    const exactly = { preconditions: { uid, resourceVersion }, signal };
    await client
      .resource(Secrets)
      .delete(parseKey(keyOfObject(secret)), exactly)
      .catch((error: unknown) => {
        if (!isReason(error, 'NotFound', 'Conflict')) throw error;
        if (isReason(error, 'Conflict')) secretLoop.queue.addRateLimited(keyOfObject(secret));
      });
  }

  /** The account went, or came: its secrets are looked at again, and references to those that are gone are dropped. */
  async function syncAccount(key: string, signal: AbortSignal): Promise<void> {
    for (const secret of secrets.byIndex(BY_ACCOUNT, key)) secretLoop.queue.add(keyOfObject(secret));
    const account = accounts.get(parseKey(key));
    if (account === undefined || account.metadata.deletionTimestamp !== undefined) return;
    // The account as it then is comes back by its event: made anew under the lost name, the secret would have no reference.
    if (await dropLostReferences(account, signal)) return;
    if (automaticTokenSecrets) await ensureSecret(account, key, signal);
  }

  /** Resolves to whether there was one. */
  async function dropLostReferences(account: Stored<ServiceAccount>, signal: AbortSignal): Promise<boolean> {
    const { namespace, name } = account.metadata;
    const lost: string[] = [];
    for (const { name: secretName = '' } of account.secrets ?? []) {
      if (!lostSecrets.has(`${namespace}/${secretName}`)) continue;
      const live = await client
        .resource(Secrets)
        .get({ namespace, name: secretName }, { signal })
        .catch(ignoreNotFound);
      lostSecrets.delete(`${namespace}/${secretName}`);
      if (live === undefined) lost.push(secretName);
    }
    if (lost.length === 0) return false;
    const change = async (): Promise<void> => {
      const live = await client.resource(ServiceAccounts).get({ namespace, name }, { signal }).catch(ignoreNotFound);
      if (live === undefined || live.metadata.uid !== account.metadata.uid) return;
      const kept = (live.secrets ?? []).filter((reference) => !lost.includes(reference.name ?? ''));
      if (kept.length === (live.secrets ?? []).length) return;
      await client.resource(ServiceAccounts).update({ ...live, secrets: kept }, { signal });
    };
    await retryOnConflict(clock, change, signal);
    return true;
  }

  /** Early releases: secret and reference; the reference first, so that an interrupted round makes no second secret. */
  async function ensureSecret(account: Stored<ServiceAccount>, key: string, signal: AbortSignal): Promise<void> {
    const { namespace, name, uid } = account.metadata;
    if (secrets.byIndex(BY_ACCOUNT, key).some((secret) => belongsTo(secret, account))) return;
    const named = (account.secrets ?? []).find((reference) => reference.name?.startsWith(`${name}-token-`) === true);
    const secretName = named?.name ?? `${name}-token-${random.nameSuffix(5)}`;
    if (named === undefined) {
      const references = [...(account.secrets ?? []), { name: secretName }];
      await client.resource(ServiceAccounts).update({ ...account, secrets: references }, { signal });
    }
    const annotations = { [ACCOUNT_NAME]: name, [ACCOUNT_UID]: uid };
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name: secretName, annotations },
      type: TOKEN_SECRET_TYPE,
    };
    try {
      await client.resource(Secrets).create(secret, { signal });
    } catch (error) {
      if (!isReason(error, 'AlreadyExists') && !isNamespaceTerminating(error)) throw error;
    }
  }

  /** Secrets that were seen to go: accounts may still refer to them. */
  const lostSecrets = new Set<string>();
  secrets.addHandler({
    onAdd: (secret) => secretLoop.queue.add(keyOfObject(secret)),
    onUpdate: (_, secret) => secretLoop.queue.add(keyOfObject(secret)),
    onDelete(secret) {
      const key = accountKeyOf(secret);
      if (key === undefined) return;
      lostSecrets.add(keyOfObject(secret));
      accountLoop.queue.add(key);
    },
  });
  const accountChanged = (account: ServiceAccount): void => accountLoop.queue.add(keyOfObject(account));
  accounts.addHandler({
    onAdd: accountChanged,
    onUpdate: (_, account) => accountChanged(account),
    onDelete: accountChanged,
  });
  return {
    name: NAME,
    async start(signal) {
      await Promise.all([secretLoop.start(signal), accountLoop.start(signal)]);
    },
  };
}
