/** Settings of a standalone API server; absent ones are as in a whole cluster. */
import type { TokenConfig } from '../../apiserver/authn/service-account-tokens.ts';
import type { LocalPath } from '../../apiserver/bootstrap/local-path-class.ts';
import type { TokenKey } from '../../apiserver/authn/token-keys.ts';
import type { HttpOptions } from '../../apiserver/command-line/http-options.ts';
import type { LimitOptions } from '../../apiserver/options/limit-options.ts';
import type { NodePortOptions } from '../../apiserver/options/node-port-options.ts';

export interface ServerSettings extends Partial<LimitOptions> {
  /** False: cluster-info for joining machines is not published. */
  readonly servesJoin?: boolean;
  /** The parts of this server, which joining servers compare with theirs. */
  readonly publishedParts?: Readonly<Record<string, string>>;
  /** Whether the cluster has the class `local-path` as its default. Default `keelson`. */
  readonly localPath?: LocalPath;
  /** False: `metrics.k8s.io` is not served until a metrics server is installed. */
  readonly metricsApi?: boolean;
  /** False: the server has no identity lease. */
  readonly identityLease?: boolean;
  /** HTTP options and the shutdown of the server. */
  readonly http?: HttpOptions;
  /** The host in published URLs; default: the server's address. */
  readonly externalHost?: string;
  /** The time between compactions; 0: never. */
  readonly compactionPeriodMs?: number;
  readonly eventTtlSeconds?: number;
  readonly serviceNodePorts?: NodePortOptions;
  /** Service ranges used instead of the instance's own. */
  readonly serviceClusterIpRanges?: readonly string[];
  readonly tokens?: {
    /** The first one issues tokens; all are accepted. */
    readonly issuers: readonly string[];
    readonly audiences: readonly string[];
    readonly keys: readonly TokenKey[];
    /** The public URL of these keys. Default: this server's. */
    readonly jwksUri?: string;
    readonly lifetimes?: Pick<TokenConfig, 'maxExpirationSeconds' | 'extendsExpiration' | 'lookup'>;
  };
  /** False: bootstrap tokens do not authenticate. */
  readonly bootstrapTokens?: boolean;
  /** Default true. */
  readonly rejectForwardingRedirects?: boolean;
  /** Types of node addresses at which kubelets are reached, in order of preference. */
  readonly kubeletAddressTypes?: readonly string[];
}
