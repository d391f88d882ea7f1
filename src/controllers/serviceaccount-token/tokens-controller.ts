/**
 * Fills secrets of type `kubernetes.io/service-account-token` and deletes them with their account. Upstream:
 * pkg/controller/serviceaccount/tokens_controller.go, which also runs under the controller manager's own name.
 *
 * Watches: service accounts and secrets of that type. Writes alone: token, CA, namespace and uid annotation of such
 * secrets, their deletion with the account, and accounts' references to deleted secrets. With `automaticTokenSecrets`
 * also a secret for each account that has none.
 */
import type { Secret, ServiceAccount } from '../../api/gen/core-v1.ts';
import { Secrets, ServiceAccounts } from '../../api/gen/resources.ts';
import type { Stored } from '../../api/object.ts';
import { ignoreNotFound, isReason } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';
import { type Informer, onEveryChange } from '../../client/informer.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { retryOnConflict } from '../../client/retry-on-conflict.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Random } from '../../platform/random.ts';
import {
  type Controller,
  type ControllerDeps,
  createKeyedLoop,
  informerList,
  isNamespaceTerminating,
  type KeyedLoop,
} from '../controller.ts';
import {
  ACCOUNT_NAME,
  ACCOUNT_UID,
  accountKeyOf,
  belongsTo,
  withTokenContent,
  needsToken,
  TOKEN_SECRET_TYPE,
} from './token-secrets.ts';

const NAME = 'serviceaccount-token-controller';
const BY_ACCOUNT = 'account';

/** Does nothing without a signer, as upstream's without a private key. */
export function createTokensController(deps: ControllerDeps): Controller {
  const disabled = { name: NAME, start: () => Promise.resolve() };
  return deps.config.signServiceAccountToken === undefined ? disabled : new TokensController(deps);
}

/** Upstream: serviceaccount.TokensController. */
class TokensController implements Controller {
  readonly name = NAME;
  readonly #sign: ((account: ServiceAccount, secret: Secret) => Promise<string>) | undefined;
  readonly #rootCaPem: string;
  readonly #automaticTokenSecrets: boolean;
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #accounts: Informer<ServiceAccount>;
  readonly #secrets: Informer<Secret>;
  readonly #secretLoop: KeyedLoop;
  readonly #accountLoop: KeyedLoop;
  /** Deleted secrets, which accounts may still refer to. */
  readonly #lostSecrets: Set<string>;

  constructor(deps: ControllerDeps) {
    const { signServiceAccountToken: sign, rootCaPem = '', automaticTokenSecrets = false } = deps.config;
    this.#sign = sign;
    this.#rootCaPem = rootCaPem;
    this.#automaticTokenSecrets = automaticTokenSecrets;
    this.#client = deps.client;
    this.#clock = deps.platform.clock;
    this.#random = deps.platform.random;
    this.#accounts = deps.informers.informer(ServiceAccounts);
    this.#secrets = deps.informers.informer(Secrets, { fieldSelector: `type=${TOKEN_SECRET_TYPE}` });
    const informers = informerList(this.#accounts, this.#secrets);
    this.#secretLoop = createKeyedLoop(deps, {
      name: NAME,
      queueName: 'serviceaccount_tokens_secret',
      workers: 2,
      informers,
      sync: (key, signal) => this.#syncSecret(key, signal),
    });
    this.#accountLoop = createKeyedLoop(deps, {
      name: NAME,
      queueName: 'serviceaccount_tokens_service',
      workers: 2,
      informers,
      sync: (key, signal) => this.#syncAccount(key, signal),
    });
    this.#lostSecrets = new Set<string>();
    this.#addHandlers();
  }

  async #syncSecret(key: string, signal: AbortSignal): Promise<void> {
    const secret = this.#secrets.get(parseKey(key));
    const accountKey = secret === undefined ? undefined : accountKeyOf(secret);
    if (secret === undefined || accountKey === undefined || secret.metadata.deletionTimestamp !== undefined) return;
    const account = await this.#accountOf(secret, accountKey, signal);
    if (account === undefined) return await this.#removeSecret(secret, signal);
    const token = needsToken(secret) ? await this.#sign!(account, secret) : '';
    const next = withTokenContent(secret, account, { rootCaPem: this.#rootCaPem, token });
    if (next === secret) return;
    await this.#client.resource(Secrets).update(next, { signal }).catch(ignoreNotFound);
  }

  /** Reads the cache first and, before a secret is deleted, the server: the account may have just been created. */
  async #accountOf(secret: Secret, key: string, signal: AbortSignal): Promise<Stored<ServiceAccount> | undefined> {
    const cached = this.#accounts.get(parseKey(key));
    if (cached !== undefined && belongsTo(secret, cached)) return cached;
    const live = await this.#client.resource(ServiceAccounts).get(parseKey(key), { signal }).catch(ignoreNotFound);
    return live !== undefined && belongsTo(secret, live) ? live : undefined;
  }

  async #removeSecret(secret: Stored<Secret>, signal: AbortSignal): Promise<void> {
    const { uid, resourceVersion } = secret.metadata;
    const exactly = { preconditions: { uid, resourceVersion }, signal };
    await this.#client
      .resource(Secrets)
      .delete(parseKey(keyOfObject(secret)), exactly)
      .catch((error: unknown) => {
        if (!isReason(error, 'NotFound', 'Conflict')) throw error;
        if (isReason(error, 'Conflict')) this.#secretLoop.queue.addRateLimited(keyOfObject(secret));
      });
  }

  /** The account was created or deleted: its secrets are enqueued, and references to deleted secrets are removed. */
  async #syncAccount(key: string, signal: AbortSignal): Promise<void> {
    for (const secret of this.#secrets.byIndex(BY_ACCOUNT, key)) this.#secretLoop.queue.add(keyOfObject(secret));
    const account = this.#accounts.get(parseKey(key));
    if (account === undefined || account.metadata.deletionTimestamp !== undefined) return;
    // The event of the write enqueues the account again. A secret created under the old name would have no reference.
    if (await this.#dropLostReferences(account, signal)) return;
    if (this.#automaticTokenSecrets) await this.#ensureSecret(account, key, signal);
  }

  /** Resolves to whether a reference was removed. */
  async #dropLostReferences(account: Stored<ServiceAccount>, signal: AbortSignal): Promise<boolean> {
    const { namespace, name } = account.metadata;
    const lost = new Set<string>();
    for (const { name: secretName = '' } of account.secrets ?? []) {
      if (!this.#lostSecrets.has(`${namespace}/${secretName}`)) continue;
      const live = await this.#client
        .resource(Secrets)
        .get({ namespace, name: secretName }, { signal })
        .catch(ignoreNotFound);
      this.#lostSecrets.delete(`${namespace}/${secretName}`);
      if (live === undefined) lost.add(secretName);
    }
    if (lost.size === 0) return false;
    const change = async (): Promise<void> => {
      const live = await this.#client
        .resource(ServiceAccounts)
        .get({ namespace, name }, { signal })
        .catch(ignoreNotFound);
      if (live === undefined || live.metadata.uid !== account.metadata.uid) return;
      const objectReferences = (live.secrets ?? []).filter((reference) => !lost.has(reference.name ?? ''));
      if (objectReferences.length === (live.secrets ?? []).length) return;
      await this.#client.resource(ServiceAccounts).update({ ...live, secrets: objectReferences }, { signal });
    };
    await retryOnConflict(this.#clock, change, signal);
    return true;
  }

  /**
   * As in early releases: a secret and its reference. The reference is written first, so that an interrupted sync
   * creates no second secret.
   */
  async #ensureSecret(account: Stored<ServiceAccount>, key: string, signal: AbortSignal): Promise<void> {
    const { namespace, name, uid } = account.metadata;
    if (this.#secrets.byIndex(BY_ACCOUNT, key).some((secret) => belongsTo(secret, account))) return;
    const named = (account.secrets ?? []).find((reference) => reference.name?.startsWith(`${name}-token-`) === true);
    const secretName = named?.name ?? `${name}-token-${this.#random.nameSuffix(5)}`;
    if (named === undefined) {
      const references = [...(account.secrets ?? []), { name: secretName }];
      await this.#client.resource(ServiceAccounts).update({ ...account, secrets: references }, { signal });
    }
    const annotations = { [ACCOUNT_NAME]: name, [ACCOUNT_UID]: uid };
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name: secretName, annotations },
      type: TOKEN_SECRET_TYPE,
    };
    try {
      await this.#client.resource(Secrets).create(secret, { signal });
    } catch (error) {
      if (!isReason(error, 'AlreadyExists') && !isNamespaceTerminating(error)) throw error;
    }
  }

  #accountChanged(account: ServiceAccount): void {
    this.#accountLoop.queue.add(keyOfObject(account));
  }

  async start(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#secretLoop.start(signal), this.#accountLoop.start(signal)]);
  }

  #addHandlers(): void {
    this.#secrets.addIndex(BY_ACCOUNT, (secret) => [accountKeyOf(secret) ?? '']);
    this.#secrets.addHandler({
      onAdd: (secret) => this.#secretLoop.queue.add(keyOfObject(secret)),
      onUpdate: (_, secret) => this.#secretLoop.queue.add(keyOfObject(secret)),
      onDelete: (secret) => {
        const key = accountKeyOf(secret);
        if (key === undefined) return;
        this.#lostSecrets.add(keyOfObject(secret));
        this.#accountLoop.queue.add(key);
      },
    });
    this.#accounts.addHandler(onEveryChange((account) => this.#accountChanged(account)));
  }
}
