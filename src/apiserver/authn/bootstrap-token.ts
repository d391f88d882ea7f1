/**
 * Bootstrap tokens: `id.secret`, stored as Secrets of type bootstrap.kubernetes.io/token in kube-system. Their user
 * is `system:bootstrap:<id>` in `system:bootstrappers`. Upstream: plugin/pkg/auth/authenticator/token/bootstrap.
 */
import { tokenField } from '../../component-helpers/token-secrets.ts';
import { Secrets } from '../../api/gen/resources.ts';
import { parseTime } from '../../api/time.ts';
import type { Clock } from '../../platform/clock.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { AUTHENTICATED_GROUP } from './client-certificate.ts';
import type { TokenAuthenticator } from './bearer-token.ts';

const TOKEN = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const TYPE = 'bootstrap.kubernetes.io/token';
const GROUP = 'system:bootstrappers';
const EXTRA_GROUP = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

export interface BootstrapTokenDeps {
  readonly objects: () => ObjectStore;
  readonly clock: Clock;
  readonly crypto: CryptoPort;
}

/** An expired or unknown token, or one not usable for authentication, is refused with 401. */
export function createBootstrapTokenAuthenticator({ objects, clock, crypto }: BootstrapTokenDeps): TokenAuthenticator {
  const same = (a: string, b: string): boolean => crypto.timingSafeEqual(Buffer.from(a), Buffer.from(b));
  return {
    async authenticateToken(token) {
      const [, id, secretText] = TOKEN.exec(token) ?? [];
      if (id === undefined || secretText === undefined) return undefined;
      const secret = objects().get(Secrets, 'kube-system', `bootstrap-token-${id}`);
      if (secret === undefined || secret.type !== TYPE || secret.metadata.deletionTimestamp !== undefined)
        return undefined;
      const field = (name: string): string => tokenField(secret, name);
      if (field('token-id') !== id || !same(field('token-secret'), secretText)) return undefined;
      if (field('expiration') !== '' && !(parseTime(field('expiration')) > clock.nowMs())) return undefined;
      if (field('usage-bootstrap-authentication') !== 'true') return undefined;
      const extra = field('auth-extra-groups')
        .split(',')
        .filter((group) => group !== '');
      if (extra.some((group) => !EXTRA_GROUP.test(group))) return undefined;
      return { name: `system:bootstrap:${id}`, groups: [...new Set([GROUP, ...extra, AUTHENTICATED_GROUP])] };
    },
  };
}
