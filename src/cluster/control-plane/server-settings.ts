/** Settings of an API server that runs alone; absent ones are as in a whole cluster. */
import type { TokenConfig } from '../../apiserver/authn/service-account-tokens.ts';
import type { TokenKey } from '../../apiserver/authn/token-keys.ts';
import type { HttpOptions } from '../../apiserver/command-line/http-options.ts';
import type { LimitOptions } from '../../apiserver/options/limit-options.ts';
import type { NodePortOptions } from '../../apiserver/options/node-port-options.ts';

export interface ServerSettings extends Partial<LimitOptions> {
  /** False: cluster-info for joining machines is not published. */
  readonly servesJoin?: boolean;
  /** False: no default storage class, as there may be no provisioner. */
  readonly localPathClass?: boolean;
  /** False: no lease names the server. */
  readonly identityLease?: boolean;
  /** How requests of any kind and the end of the server are handled. */
  readonly http?: HttpOptions;
  /** The host in published URLs; default: the address. */
  readonly externalHost?: string;
  /** The time between compactions; 0: never. */
  readonly compactionPeriodMs?: number;
  readonly eventTtlSeconds?: number;
  readonly serviceNodePorts?: NodePortOptions;
  /** Service ranges used instead of the instance's own. */
  readonly serviceClusterIpRanges?: readonly string[];
  readonly tokens?: {
    /** The first signs; all are accepted. */
    readonly issuers: readonly string[];
    readonly audiences: readonly string[];
    readonly keys: readonly TokenKey[];
    /** The URL at which others find these keys. Default: this server's. */
    readonly jwksUri?: string;
    readonly lifetimes?: Pick<TokenConfig, 'maxExpirationSeconds' | 'extendsExpiration' | 'lookup'>;
  };
  /** False: bootstrap tokens do not authenticate. */
  readonly bootstrapTokens?: boolean;
  /** Default true. */
  readonly rejectForwardingRedirects?: boolean;
  /** Kinds of node addresses by which kubelets are reached, in the order they are tried. */
  readonly kubeletAddressTypes?: readonly string[];
}
