/**
 * Services of the server that resource definitions use, as narrow interfaces. Without a service, the sub-resources
 * and virtual resources that need it are not served.
 */
import type { Stored } from '../../api/object.ts';
import type { Pod, Node, Service, ServiceAccount } from '../../api/gen/core-v1.ts';
import type { TokenRequest, UserInfo } from '../../api/gen/authentication-v1.ts';
import type { SubjectRulesReviewStatus } from '../../api/gen/authorization-v1.ts';
import type { ApiRequest, ApiResponse, Principal } from '../../api/transport.ts';
import type { ExplainPod } from '../../component-helpers/pod-why.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { Authorizer } from '../authz/contract.ts';
import type { RequestContext } from '../request-context.ts';
import type { ServiceAllocator } from './core/services/service-allocator.ts';
import type { ObjectStore } from './object-store.ts';

/** A service-account token to sign; the token sub-resource has checked it. */
export interface ServiceAccountTokenOrder {
  readonly serviceAccount: ServiceAccount;
  /** With audiences and expirationSeconds set. */
  readonly request: TokenRequest;
  /** The object the token is bound to, if any: the token is invalid without it. */
  readonly bound?: { readonly kind: string; readonly name: string; readonly uid: string };
  /** Name and uid of the node a bound pod runs on, recorded in the token. */
  readonly node?: { readonly name: string; readonly uid?: string };
}

export interface IssuedToken {
  readonly token: string;
  /** Wall time. */
  readonly expiresAtMs: number;
  readonly expirationSeconds: number;
  /** The audiences of the token. */
  readonly audiences: readonly string[];
}

/** Signs tokens of service accounts. */
export type IssueServiceAccountToken = (order: ServiceAccountTokenOrder) => Promise<IssuedToken>;

/**
 * Verifies a bearer token for TokenReview. Undefined for an unknown token; throws with the reason for a refused one.
 */
export type AuthenticateToken = (
  token: string,
  audiences: readonly string[],
) => Promise<{ user: UserInfo; audiences?: readonly string[] } | undefined>;

/** All rules that apply to a user in a namespace, for SelfSubjectRulesReview. */
export type RulesFor = (user: Principal, namespace: string) => Promise<SubjectRulesReviewStatus>;

/** A call to a kubelet on behalf of a request. */
export interface KubeletCall {
  readonly request: ApiRequest;
  readonly context: RequestContext;
}

/** Streams between a client and kubelets, pods and services. Upstream: the pod, service and node REST connecters. */
export interface KubeletConnector {
  /** log, exec, attach, portforward. Options are in the request's query. */
  connectPod(
    pod: Stored<Pod>,
    subresource: 'log' | 'exec' | 'attach' | 'portforward',
    call: KubeletCall,
  ): Promise<ApiResponse>;
  /** `target`: the name in the path, without scheme and port (`https:web:8443`). */
  proxyPod(pod: Pod, target: ProxyTarget, call: KubeletCall): Promise<ApiResponse>;
  proxyService(service: Service, target: ProxyTarget, call: KubeletCall): Promise<ApiResponse>;
  proxyNode(node: Node, target: ProxyTarget, call: KubeletCall): Promise<ApiResponse>;
}

/** The scheme and port in a proxied path. */
export interface ProxyTarget {
  readonly scheme: '' | 'http' | 'https';
  /** Port number or name; empty: the default. */
  readonly port: string;
}

/** Health of one part of the control plane. */
export interface ComponentHealth {
  readonly name: string;
  readonly healthy: boolean;
  readonly message: string;
}

export interface RegistryServices {
  readonly objects: ObjectStore;
  readonly platform: BasePlatform;
  readonly serviceAllocator: ServiceAllocator;
  /** How long events are kept. Default: an hour. */
  readonly eventTtlSeconds?: number;
  readonly authorizer: Authorizer;
  readonly rulesFor?: RulesFor;
  readonly authenticateToken?: AuthenticateToken;
  readonly issueServiceAccountToken?: IssueServiceAccountToken;
  readonly kubeletConnector?: KubeletConnector;
  /** The scheduler's answers, while a scheduler runs in this process. */
  readonly explainPod?: () => ExplainPod | undefined;
  readonly componentHealth?: () => Promise<readonly ComponentHealth[]>;
}
