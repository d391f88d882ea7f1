/**
 * Deletes expired bootstrap tokens. Upstream: controller/bootstrap tokencleaner.go.
 *
 * Watches: secrets of kube-system. Writes alone: the deletion of expired secrets of type
 * bootstrap.kubernetes.io/token.
 */
import { Secrets } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import type { Secret } from '../../api/gen/core-v1.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { tokenExpiresAtMs } from '../../component-helpers/token-secrets.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';

const ACCOUNT = 'token-cleaner';
const NAME = 'token-cleaner-controller';
const NAMESPACE = 'kube-system';
const TOKEN_TYPE = 'bootstrap.kubernetes.io/token';

export function createTokenCleanerController(deps: ControllerDeps): Controller {
  const { clock } = deps.platform;
  const client = deps.clientFor(ACCOUNT).resource(Secrets);
  const secrets = deps.informers.informer(Secrets, { namespace: NAMESPACE });
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'token_cleaner',
    workers: 1,
    informers: informerList(secrets),
    sync: evaluateSecret,
  });

  async function evaluateSecret(key: string, signal: AbortSignal): Promise<void> {
    const secret = secrets.get(parseKey(key));
    if (secret?.type !== TOKEN_TYPE) return;
    const expiresAtMs = tokenExpiresAtMs(secret);
    if (expiresAtMs === undefined) return;
    const leftMs = expiresAtMs - clock.nowMs();
    if (leftMs > 0) return loop.queue.addAfter(key, leftMs);
    const { uid, resourceVersion } = secret.metadata;
    try {
      // Only in the checked version: a token that was renewed meanwhile stays.
      await client.delete(parseKey(key), { preconditions: { uid, resourceVersion }, signal });
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error;
    }
  }

  const enqueue = (secret: Secret): void => loop.queue.add(keyOfObject(secret));
  secrets.addHandler({ onAdd: enqueue, onUpdate: (_, secret) => enqueue(secret) });
  return loop;
}
