/** What whoever runs the API server alone may decide about it beyond what every cluster has; absent: as in a whole cluster. */
import type { AdmissionPlugin } from '../apiserver/admission/contract.ts';
import { anonymousAuthenticator } from '../apiserver/authn/anonymous.ts';
import type { Authenticator } from '../apiserver/authn/contract.ts';
import type { TokenKey } from '../apiserver/authn/service-account-tokens.ts';
import type { Authorizer } from '../apiserver/authz/contract.ts';
import type { AuthorizationMode } from '../apiserver/command-line/access-options.ts';
import { FlagError } from '../apiserver/command-line/flags.ts';

/** The settings. */
export interface ServerSettings {
  readonly authorizationModes?: readonly AuthorizationMode[];
  readonly anonymousAuth?: boolean;
  /** False: what machines that join look for is somebody else's to publish. */
  readonly servesJoin?: boolean;
  /** False: no default storage class, as nobody may be there who provisions. */
  readonly localPathClass?: boolean;
  readonly maxRequestsInFlight?: number;
  readonly maxMutatingRequestsInFlight?: number;
  /** 0: never. */
  readonly compactionPeriodMs?: number;
  readonly eventTtlSeconds?: number;
  readonly serviceNodePorts?: { readonly first: number; readonly last: number };
  /** Instead of the instance's own. */
  readonly serviceClusterIpRanges?: readonly string[];
  readonly tokens?: {
    /** The first signs; all are accepted. */
    readonly issuers: readonly string[];
    readonly audiences: readonly string[];
    readonly keys: readonly TokenKey[];
  };
  readonly admission?: {
    readonly enabled: readonly string[];
    readonly disabled: readonly string[];
    readonly only?: readonly string[];
  };
}

const alwaysAllow: Authorizer = { authorize: () => ({ decision: 'allow', reason: '' }) };
const alwaysDeny: Authorizer = { authorize: () => ({ decision: 'noOpinion', reason: 'Everything is forbidden.' }) };

/** The authorizers in the order wanted; the group of administrators always comes first. */
export function chosenAuthorizers(
  settings: ServerSettings,
  made: { readonly privileged: Authorizer; readonly node: Authorizer; readonly rbac: Authorizer },
): readonly Authorizer[] {
  const byMode = { Node: made.node, RBAC: made.rbac, AlwaysAllow: alwaysAllow, AlwaysDeny: alwaysDeny };
  const modes = settings.authorizationModes ?? ['Node', 'RBAC'];
  return [made.privileged, ...modes.map((mode) => byMode[mode])];
}

/** The authenticators, with or without that of requests that bring nothing. */
export function chosenAuthenticators(
  settings: ServerSettings,
  all: readonly Authenticator[],
): readonly Authenticator[] {
  return settings.anonymousAuth === false ? all.filter((one) => one !== anonymousAuthenticator) : all;
}

/** Not upstream's name: a part of the registry there, so that no flag takes it off. */
const ALWAYS = 'RBACEscalation';

/** The admission plugins wanted. Throws `FlagError` for names that do not exist. */
export function chosenAdmission(
  { admission }: ServerSettings,
  all: readonly AdmissionPlugin[],
): readonly AdmissionPlugin[] {
  if (admission === undefined) return all;
  const { enabled, disabled, only } = admission;
  const known = new Set(all.map(({ name }) => name).filter((name) => name !== ALWAYS));
  for (const [flag, names] of Object.entries({ enable: enabled, disable: disabled, only: only ?? [] })) {
    const unknown = names.filter((name) => !known.has(name));
    if (unknown.length > 0)
      throw new FlagError(
        `${flag === 'only' ? 'admission-control' : `${flag}-admission-plugins`} plugin ${JSON.stringify(unknown[0])} is unknown; known are ${[...known].join(', ')}`,
      );
  }
  return all.filter(({ name }) => name === ALWAYS || (only?.includes(name) ?? !disabled.includes(name)));
}
