/** Calls conversion webhooks by the client that all webhooks share. */
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { Net } from '../../platform/net.ts';
import { createServiceResolver, type ServiceResolverDeps } from '../webhook/service-resolver.ts';
import { createWebhookClient } from '../webhook/webhook-client.ts';
import { targetOfClientConfig } from '../webhook/webhook-target.ts';
import type { PostConversionReview } from './conversion.ts';

/** As upstream. */
const TIMEOUT_MS = 30_000;

/** Makes the way to conversion webhooks. */
export function createPostConversionReview(
  deps: ServiceResolverDeps & { readonly net: Pick<Net, 'http'>; readonly clock: Clock; readonly log: Log },
): PostConversionReview {
  const client = createWebhookClient(deps);
  const resolve = createServiceResolver(deps);
  return async (config, body) =>
    await client.post(targetOfClientConfig(config, resolve), { body, timeoutMs: TIMEOUT_MS });
}
