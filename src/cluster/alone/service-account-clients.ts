/**
 * Clients with the identity of service accounts of kube-system, by TokenRequest: `--use-service-account-credentials`
 * gives each controller one. Upstream: clientbuilder's DynamicSimpleControllerClientBuilder.
 */
import { ServiceAccounts } from '../../api/gen/resources.ts';
import type { TokenRequest } from '../../api/gen/authentication-v1.ts';
import { isReason } from '../../api/status-error.ts';
import { parseTime } from '../../api/time.ts';
import type { Client } from '../../client/client.ts';
import { createRestClient, type RestClientDeps, type TokenSource } from '../../client/rest-client.ts';
import type { Clock } from '../../platform/clock.ts';

const NAMESPACE = 'kube-system';
const LIFE_SECONDS = 3600;
/** The fraction of its life after which a token is renewed. */
const RENEW_AT = 0.8;

/** `base`: the controller manager's connection, without credentials; `client` requests the tokens. */
export function createAccountClients(
  base: RestClientDeps,
  client: Client,
): (account: string, userAgent: string) => Client {
  const { token: _, tokenSource: __, basicAuth: ___, ...connection } = base;
  const { certPem: ____, keyPem: _____, ...tls } = connection.tls ?? {};
  return (account, userAgent) =>
    createRestClient({ ...connection, tls, userAgent, tokenSource: createAccountTokens(client, base.clock, account) });
}

/** Tokens of one account, renewed before they expire. A missing account is created. */
function createAccountTokens(client: Client, clock: Clock, account: string): TokenSource {
  let held: { readonly token: string; readonly renewAtMs: number } | undefined;
  let asking: Promise<string> | undefined;
  const request = async (): Promise<string> => {
    const accounts = client.resource(ServiceAccounts);
    const key = { namespace: NAMESPACE, name: account };
    const body = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: {},
      spec: { audiences: [], expirationSeconds: LIFE_SECONDS },
    };
    const ask = (): Promise<TokenRequest> => accounts.createSubresource<TokenRequest>(key, 'token', body);
    const answer = await ask().catch(async (error: unknown) => {
      if (!isReason(error, 'NotFound')) throw error;
      await accounts.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: key }).catch((failed: unknown) => {
        if (!isReason(failed, 'AlreadyExists')) throw failed;
      });
      return await ask();
    });
    const { token = '', expirationTimestamp } = answer.status ?? {};
    const lifeMs = parseTime(expirationTimestamp) - clock.nowMs();
    held = { token, renewAtMs: clock.monotonicMs() + lifeMs * RENEW_AT };
    return token;
  };
  return {
    async token() {
      if (held !== undefined && clock.monotonicMs() < held.renewAtMs) return held.token;
      asking ??= request().finally(() => {
        asking = undefined;
      });
      return await asking;
    },
    invalidate() {
      held = undefined;
    },
  };
}
