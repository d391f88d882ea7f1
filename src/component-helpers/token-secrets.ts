/** Fields, labels and annotations of secrets that hold tokens: bootstrap tokens and legacy service-account tokens. */
import { parseTime } from '../api/time.ts';
import type { Secret } from '../api/gen/core-v1.ts';

/** The day a legacy service-account token was last used: a label of its secret. */
export const LAST_USED_LABEL = 'kubernetes.io/legacy-token-last-used';

/** The day from which a legacy service-account token is no longer accepted: a label of its secret. */
export const INVALID_SINCE_LABEL = 'kubernetes.io/legacy-token-invalid-since';

/** The ConfigMap with the date since which the last use is recorded, and the key of that date. */
export const TOKEN_TRACKING = {
  namespace: 'kube-system',
  name: 'kube-apiserver-legacy-service-account-token-tracking',
};
export const TRACKED_SINCE = 'since';

/** When a day such as `2026-01-31` begins; undefined when it is invalid. */
export function startOfDayMs(day: string | undefined): number | undefined {
  const ms = day === undefined ? Number.NaN : parseTime(`${day}T00:00:00Z`);
  return Number.isNaN(ms) ? undefined : ms;
}

/** A field of a bootstrap token's secret as text; '' when it is absent. */
export function tokenField(secret: Secret, name: string): string {
  return Buffer.from(secret.data?.[name] ?? '', 'base64').toString('utf8');
}

/** When a bootstrap token expires: undefined when it never does; 0 when its expiration cannot be read, so that it is not trusted. */
export function tokenExpiresAtMs(secret: Secret): number | undefined {
  const expiration = tokenField(secret, 'expiration');
  if (expiration === '') return undefined;
  const ms = parseTime(expiration);
  return Number.isNaN(ms) ? 0 : ms;
}
