/** The kinds of the Gateway API with the fields that are read here. Their definitions set the defaults. */
import type { LabelSelector } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';

const GROUP = 'gateway.networking.k8s.io';

function infoOf<T extends KubernetesObject>(kind: string, resource: string, namespaced: boolean): ResourceInfo<T> {
  return {
    group: GROUP,
    version: 'v1',
    kind,
    resource,
    listKind: `${kind}List`,
    singular: kind.toLowerCase(),
    namespaced,
    verbs: ['get', 'list', 'watch', 'patch'],
    subresources: [],
    shortNames: [],
    categories: [],
  };
}

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime?: string;
  readonly observedGeneration?: number;
}

export interface GatewayClass extends KubernetesObject {
  readonly spec: { readonly controllerName: string; readonly parametersRef?: object };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly supportedFeatures?: readonly object[];
  };
}

export interface ObjectReference {
  readonly group?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name: string;
}

export interface GatewayListener {
  readonly name: string;
  readonly hostname?: string;
  readonly port: number;
  readonly protocol: string;
  readonly tls?: {
    readonly mode?: string;
    readonly certificateRefs?: readonly ObjectReference[];
    readonly options?: Readonly<Record<string, string>>;
  };
  readonly allowedRoutes?: {
    readonly namespaces?: { readonly from?: string; readonly selector?: LabelSelector };
    readonly kinds?: readonly { readonly group?: string; readonly kind: string }[];
  };
}

export interface ListenerStatus {
  readonly name: string;
  readonly supportedKinds: readonly { readonly group: string; readonly kind: string }[];
  readonly attachedRoutes: number;
  readonly conditions: readonly Condition[];
}

export interface Gateway extends KubernetesObject {
  readonly spec: {
    readonly gatewayClassName: string;
    readonly listeners?: readonly GatewayListener[];
    readonly addresses?: readonly { readonly type?: string; readonly value?: string }[];
    readonly infrastructure?: { readonly parametersRef?: object };
    readonly tls?: { readonly backend?: object; readonly frontend?: object };
  };
  readonly status?: {
    readonly addresses?: readonly { readonly type?: string; readonly value: string }[];
    readonly conditions?: readonly Condition[];
    readonly listeners?: readonly ListenerStatus[];
  };
}

export interface ParentReference extends ObjectReference {
  readonly sectionName?: string;
  readonly port?: number;
}

export interface RouteParentStatus {
  readonly parentRef: ParentReference;
  readonly controllerName: string;
  readonly conditions?: readonly Condition[];
}

export interface HeaderFilter {
  readonly set?: readonly { readonly name: string; readonly value: string }[];
  readonly add?: readonly { readonly name: string; readonly value: string }[];
  readonly remove?: readonly string[];
}

export interface PathModifier {
  readonly type: string;
  readonly replaceFullPath?: string;
  readonly replacePrefixMatch?: string;
}

export interface RouteFilter {
  readonly type: string;
  readonly requestHeaderModifier?: HeaderFilter;
  readonly responseHeaderModifier?: HeaderFilter;
  readonly requestMirror?: {
    readonly backendRef: BackendReference;
    readonly percent?: number;
    readonly fraction?: { readonly numerator: number; readonly denominator?: number };
  };
  readonly requestRedirect?: {
    readonly scheme?: 'http' | 'https';
    readonly hostname?: string;
    readonly path?: PathModifier;
    readonly port?: number;
    readonly statusCode?: number;
  };
  readonly urlRewrite?: { readonly hostname?: string; readonly path?: PathModifier };
}

export interface BackendReference extends ObjectReference {
  readonly port?: number;
}

export interface WeightedReference extends BackendReference {
  readonly weight?: number;
  readonly filters?: readonly RouteFilter[];
}

export interface NamedMatch {
  readonly type?: string;
  readonly name: string;
  readonly value: string;
}

export interface HttpMatch {
  readonly path?: { readonly type?: string; readonly value?: string };
  readonly headers?: readonly NamedMatch[];
  readonly queryParams?: readonly NamedMatch[];
  readonly method?: string;
}

export interface GrpcMatch {
  readonly method?: { readonly type?: string; readonly service?: string; readonly method?: string };
  readonly headers?: readonly NamedMatch[];
}

export interface RouteRule<Match> {
  readonly matches?: readonly Match[];
  readonly filters?: readonly RouteFilter[];
  readonly backendRefs?: readonly WeightedReference[];
  readonly timeouts?: { readonly request?: string; readonly backendRequest?: string };
}

/** The fields that HTTPRoute and GRPCRoute share. */
export interface GatewayRoute<Match = unknown> extends KubernetesObject {
  readonly spec: {
    readonly parentRefs?: readonly ParentReference[];
    readonly hostnames?: readonly string[];
    readonly rules?: readonly RouteRule<Match>[];
  };
  readonly status?: { readonly parents?: readonly RouteParentStatus[] };
}

export type RouteKind = 'HTTPRoute' | 'GRPCRoute' | 'TLSRoute';

export type TlsRoute = GatewayRoute<never>;
export type HttpRoute = GatewayRoute<HttpMatch>;
export type GrpcRoute = GatewayRoute<GrpcMatch>;

export interface BackendTlsPolicy extends KubernetesObject {
  readonly spec: {
    readonly targetRefs: readonly {
      readonly group: string;
      readonly kind: string;
      readonly name: string;
      readonly sectionName?: string;
    }[];
    readonly validation: {
      readonly caCertificateRefs?: readonly { readonly group: string; readonly kind: string; readonly name: string }[];
      readonly wellKnownCACertificates?: string;
      readonly hostname: string;
      readonly subjectAltNames?: readonly {
        readonly type: string;
        readonly hostname?: string;
        readonly uri?: string;
      }[];
    };
    readonly options?: Readonly<Record<string, string>>;
  };
  readonly status?: { readonly ancestors?: readonly PolicyAncestorStatus[] };
}

export interface PolicyAncestorStatus {
  readonly ancestorRef: ParentReference;
  readonly controllerName: string;
  readonly conditions?: readonly Condition[];
}

export interface ReferenceGrant extends KubernetesObject {
  readonly spec: {
    readonly from: readonly {
      readonly group: string;
      readonly kind: string;
      readonly namespace: string;
    }[];
    readonly to: readonly {
      readonly group: string;
      readonly kind: string;
      readonly name?: string;
    }[];
  };
}

export const GatewayClasses = infoOf<GatewayClass>('GatewayClass', 'gatewayclasses', false);
export const Gateways = infoOf<Gateway>('Gateway', 'gateways', true);
export const HttpRoutes = infoOf<HttpRoute>('HTTPRoute', 'httproutes', true);
export const GrpcRoutes = infoOf<GrpcRoute>('GRPCRoute', 'grpcroutes', true);
export const TlsRoutes = infoOf<TlsRoute>('TLSRoute', 'tlsroutes', true);
export const BackendTlsPolicies = infoOf<BackendTlsPolicy>('BackendTLSPolicy', 'backendtlspolicies', true);
export const ReferenceGrants = infoOf<ReferenceGrant>('ReferenceGrant', 'referencegrants', true);
