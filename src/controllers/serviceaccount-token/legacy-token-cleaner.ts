/**
 * Removes token secrets of early releases that were not used for a year: they are marked invalid first, and deleted a
 * year later. Upstream: pkg/controller/serviceaccount/legacy_serviceaccount_token_cleaner.go.
 *
 * Watches: accounts, token secrets, pods. Writes alone: the invalid-since label and the deletion of such secrets.
 * Only secrets that an account refers to count as created by the system; others are kept.
 */
import { ConfigMaps, Pods, Secrets, ServiceAccounts } from '../../api/gen/resources.ts';
import { isReason, ignoreNotFound } from '../../api/status-error.ts';
import { formatTime, parseTime } from '../../api/time.ts';
import type { Pod, Secret } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import {
  INVALID_SINCE_LABEL,
  LAST_USED_LABEL,
  startOfDayMs,
  TOKEN_TRACKING,
  TRACKED_SINCE,
} from '../../component-helpers/token-secrets.ts';
import { informerList, runPeriodically, type Controller, type ControllerDeps } from '../controller.ts';
import { accountKeyOf, TOKEN_SECRET_TYPE } from './token-secrets.ts';

const NAME = 'legacy-serviceaccount-token-cleaner-controller';
const ACCOUNT = 'legacy-service-account-token-cleaner';
const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;

/** Runs once a day. */
export function createLegacyTokenCleaner(deps: ControllerDeps): Controller {
  const { clock } = deps.platform;
  const log = deps.platform.log.child(NAME);
  const account = deps.clientFor(ACCOUNT);
  const client = account.resource(Secrets);
  const accounts = deps.informers.informer(ServiceAccounts);
  const pods = deps.informers.informer(Pods);
  const secrets = deps.informers.informer(Secrets, { fieldSelector: `type=${TOKEN_SECRET_TYPE}` });

  /** The first whole day of tracking. Infinity while tracking has not begun. */
  async function trackedSinceMs(signal: AbortSignal): Promise<number> {
    const map = await account.resource(ConfigMaps).get(TOKEN_TRACKING, { signal }).catch(ignoreNotFound);
    return (startOfDayMs(map?.data?.[TRACKED_SINCE]) ?? Infinity) + DAY_MS;
  }

  async function round(signal: AbortSignal): Promise<void> {
    // Before this day, a missing record does not mean that the token was unused.
    if (clock.nowMs() < (await trackedSinceMs(signal)) + YEAR_MS) return;
    const mounted = new Set(pods.list().flatMap(mountedSecrets));
    for (const secret of secrets.list()) {
      signal.throwIfAborted();
      if (secret.metadata.deletionTimestamp !== undefined || !isAutomatic(secret) || mounted.has(keyOfObject(secret)))
        continue;
      try {
        await evaluateSecret(secret, signal);
      } catch (error) {
        if (signal.aborted) return;
        // Retried tomorrow; other tokens are handled now.
        log.warn('ending an unused token failed', { secret: keyOfObject(secret), err: error });
      }
    }
  }

  function isAutomatic(secret: Stored<Secret>): boolean {
    const key = accountKeyOf(secret);
    const owner = key === undefined ? undefined : accounts.get(parseKey(key));
    return (owner?.secrets ?? []).some((reference) => reference.name === secret.metadata.name);
  }

  async function evaluateSecret(secret: Stored<Secret>, signal: AbortSignal): Promise<void> {
    const { labels = {}, creationTimestamp, uid, resourceVersion } = secret.metadata;
    const nowMs = clock.nowMs();
    const invalidMs = startOfDayMs(labels[INVALID_SINCE_LABEL]);
    const usedMs = Math.max(parseTime(creationTimestamp), startOfDayMs(labels[LAST_USED_LABEL]) ?? 0);
    const key = parseKey(keyOfObject(secret));
    try {
      if (invalidMs !== undefined && invalidMs + YEAR_MS < nowMs && usedMs + YEAR_MS < nowMs) {
        await client.delete(key, { preconditions: { uid, resourceVersion }, signal });
      } else if (invalidMs === undefined && usedMs + YEAR_MS < nowMs) {
        const label = { [INVALID_SINCE_LABEL]: formatTime(nowMs).slice(0, 10) };
        await client.patch(
          key,
          { type: 'merge', patch: { metadata: { uid, resourceVersion, labels: label } } },
          { signal },
        );
      }
    } catch (error) {
      // Changed or deleted since it was checked: retried tomorrow.
      if (!isReason(error, 'NotFound', 'Conflict')) throw error;
    }
  }

  return {
    name: NAME,
    async start(signal) {
      const informers = informerList(accounts, pods, secrets);
      await runPeriodically(deps, { name: NAME, periodMs: DAY_MS, informers, round }, signal);
    },
  };
}

function mountedSecrets({ metadata, spec }: Stored<Pod>): string[] {
  const { namespace } = metadata;
  return (spec?.volumes ?? []).flatMap(({ secret }) =>
    secret?.secretName === undefined ? [] : [`${namespace}/${secret.secretName}`],
  );
}
