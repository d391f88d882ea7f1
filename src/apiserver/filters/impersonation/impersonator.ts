/**
 * Impersonation in the first mode that the authorizers allow, beginning with the strictest. The mode that a user's last request
 * used is tried first, so that users of the legacy mode cause no more checks than before. Upstream:
 * endpoints/filters/impersonation.WithConstrainedImpersonation.
 */
import { isReason } from '../../../api/status-error.ts';
import type { Principal } from '../../../api/transport.ts';
import { Lru } from '../../../base/lru.ts';
import { type Attempt, MODES, tryMode } from './modes.ts';

/** The user a request is served for, after impersonation. */
export interface Impersonated {
  readonly user: Principal;
  /** The verb that allowed it; absent for the way of old, which allows everything. */
  readonly constraint?: string;
}

/** Rejects with the first refusal when there is no way. */
export type Impersonator = (attempt: Attempt) => Promise<Impersonated>;

/** The number of users whose last successful mode is remembered. */
const REMEMBERED = 10_000;

export function createImpersonator(): Impersonator {
  const lastModes = new Lru<string, number>(REMEMBERED);
  return async (attempt) => {
    const by = attempt.request.user;
    const last = lastModes.get(by.name);
    const order = last === undefined ? [...MODES.keys()] : [last, ...[...MODES.keys()].filter((at) => at !== last)];
    let refusal: unknown;
    for (const at of order) {
      const mode = MODES[at]!;
      if (!mode.applies(attempt.wanted, by)) continue;
      try {
        const user = await tryMode(mode, attempt);
        lastModes.set(by.name, at);
        return { user, constraint: mode.name === '' ? undefined : `impersonate:${mode.name}` };
      } catch (error) {
        if (!isReason(error, 'Forbidden')) throw error;
        refusal ??= error;
      }
    }
    throw refusal;
  };
}
