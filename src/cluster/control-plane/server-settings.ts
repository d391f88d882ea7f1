/** What whoever runs the API server alone may decide about it beyond what every cluster has; absent: as in a whole cluster. */
import type { HttpOptions } from '../../apiserver/command-line/http-options.ts';
import type { LimitOptions } from '../../apiserver/options/limit-options.ts';
import type { NodePortOptions } from '../../apiserver/options/node-port-options.ts';
import type { TokenConfig, TokenKey } from '../../apiserver/authn/service-account-tokens.ts';

export interface ServerSettings extends Partial<LimitOptions> {
  /** False: what machines that join look for is somebody else's to publish. */
  readonly servesJoin?: boolean;
  /** False: no default storage class, as nobody may be there who provisions. */
  readonly localPathClass?: boolean;
  /** False: no lease names the server. */
  readonly identityLease?: boolean;
  /** Of requests whatever they ask for, and of the end. */
  readonly http?: HttpOptions;
  /** The host in URLs told to others; default: the address. */
  readonly externalHost?: string;
  /** 0: never. */
  readonly compactionPeriodMs?: number;
  readonly eventTtlSeconds?: number;
  readonly serviceNodePorts?: NodePortOptions;
  /** Instead of the instance's own. */
  readonly serviceClusterIpRanges?: readonly string[];
  readonly tokens?: {
    /** The first signs; all are accepted. */
    readonly issuers: readonly string[];
    readonly audiences: readonly string[];
    readonly keys: readonly TokenKey[];
    /** Where others find these keys. Default: here. */
    readonly jwksUri?: string;
    readonly lifetimes?: Pick<TokenConfig, 'maxExpirationSeconds' | 'extendsExpiration' | 'lookup'>;
  };
  /** False: tokens of machines that join are nobody's. */
  readonly bootstrapTokens?: boolean;
  /** Default true. */
  readonly rejectForwardingRedirects?: boolean;
  /** Kinds of node addresses by which kubelets are reached, in the order they are tried. */
  readonly kubeletAddressTypes?: readonly string[];
}
