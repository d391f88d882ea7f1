/**
 * The complete configuration of a node's data plane: the controller sends it at every change, and the data plane replaces the old
 * one. It needs no look-up of objects, and has no credentials except certificates.
 */

/** The text or expression that a header or a query parameter must match. */
export interface ValueMatch {
  readonly name: string;
  readonly value: string;
  /** The value is a regular expression (RE2) for the whole text. */
  readonly isRegex?: boolean;
}

export interface PathMatch {
  /** `prefix` compares segment by segment. */
  readonly type: 'exact' | 'prefix' | 'regex';
  readonly value: string;
}

/** All parts must match. */
export interface RouteMatch {
  readonly path: PathMatch;
  readonly method?: string;
  readonly headers?: readonly ValueMatch[];
  readonly queryParams?: readonly ValueMatch[];
}

export interface HeaderChanges {
  readonly set?: readonly (readonly [name: string, value: string])[];
  readonly add?: readonly (readonly [name: string, value: string])[];
  readonly remove?: readonly string[];
}

/** A replaced path: the whole path, or the part that the route's prefix matched. */
export interface PathChange {
  readonly type: 'full' | 'prefix';
  readonly value: string;
}

export interface Redirect {
  readonly status: number;
  readonly scheme?: 'http' | 'https';
  readonly hostname?: string;
  readonly port?: number;
  readonly path?: PathChange;
}

/** A backend by its key in the snapshot. */
export interface MirrorTarget {
  readonly backend: string;
  /** The share of requests is `numerator` of `denominator`. */
  readonly numerator: number;
  readonly denominator: number;
}

/** The filters between match and backend. */
export interface RouteFilters {
  readonly requestHeaders?: HeaderChanges;
  readonly responseHeaders?: HeaderChanges;
  readonly redirect?: Redirect;
  readonly rewrite?: { readonly hostname?: string; readonly path?: PathChange };
  readonly mirrors?: readonly MirrorTarget[];
}

/** A backend with its share of a rule's requests. */
export interface WeightedBackend {
  readonly backend: string;
  readonly weight: number;
  readonly filters?: RouteFilters;
}

/** One match with its actions. */
export interface Route {
  /** The object of the route, for logs: `Ingress default/web`. */
  readonly source: string;
  /** A host name without port: `web.example`, `*.example`, or '' for all. */
  readonly host: string;
  /** Whether `*` of the host stands for several labels (Gateway API) or exactly one (Ingress). */
  readonly wildcardDepth: 'one' | 'many';
  readonly match: RouteMatch;
  /** Host names, or wildcards, covered by `host`, at which the route does not match. */
  readonly except?: readonly string[];
  readonly filters?: RouteFilters;
  /** When it is empty, or all weights are 0, requests get `emptyStatus`. */
  readonly backends: readonly WeightedBackend[];
  /** The status when no backend can accept the request. */
  readonly emptyStatus: 500 | 503;
  /** The timeout of the whole request; 0 or absent for none. */
  readonly requestTimeoutMs?: number;
  /** The timeout until a backend's response begins. */
  readonly responseTimeoutMs?: number;
}

export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

export interface Backend {
  /** `h2c`: HTTP/2 without TLS. `https`: HTTP/1.1 over TLS. `h2`: HTTP/2 over TLS. */
  readonly protocol: 'http' | 'h2c' | 'https' | 'h2';
  readonly endpoints: readonly Endpoint[];
  /** Requests of one client address go to one endpoint. */
  readonly isSticky?: boolean;
  /** When it is absent, TLS is used without verification of the certificate. */
  readonly verification?: {
    /** The requested server name, for which the certificate must be valid unless there are `altNames`. */
    readonly serverName: string;
    /** Absent for the authorities that Node.js includes. */
    readonly caPem?: string;
    /** The certificate must have one of these names. */
    readonly altNames?: readonly { readonly type: 'DNS' | 'URI'; readonly value: string }[];
  };
}

/** A certificate for the names, which may begin with `*.`; '' is for clients that request no known name. */
export interface ServedCertificate {
  readonly names: readonly string[];
  readonly certPem: string;
  readonly keyPem: string;
}

/** TLS connections for a name that go to backends, passed through or terminated. */
export interface Passthrough {
  /** The object of the route, for logs: `TLSRoute default/web`. */
  readonly source: string;
  /** `web.example`, `*.example` for one or more labels, or '' for all. */
  readonly host: string;
  /** When it is empty, or all weights are 0, connections are closed. */
  readonly backends: readonly WeightedBackend[];
  /** TLS is terminated here; connections to backends with `verification` use TLS again. */
  readonly isTerminated?: boolean;
}

/** The routes and certificates of one port. */
export interface Listener {
  readonly port: number;
  readonly isTls: boolean;
  /** Routes of a host in the order of precedence: the first that matches gets the request. */
  readonly routes: readonly Route[];
  readonly certificates: readonly ServedCertificate[];
  /**
   * Names with passthrough, in addition to `terminated` ones, at which HTTP is served; the most specific decides. Absent when
   * HTTP is served at all names.
   */
  readonly passthrough?: readonly Passthrough[];
  readonly terminated?: readonly string[];
  /** HTTP is served at no name. */
  readonly isTcp?: boolean;
}

export interface Snapshot {
  readonly listeners: readonly Listener[];
  readonly backends: Readonly<Record<string, Backend>>;
}

/** The state of a port. */
export interface ListenerState {
  readonly port: number;
  /** The reason why it does not listen: Node's error code, such as EADDRINUSE. */
  readonly problem?: string;
  /** The program that holds the port. The data plane does not know it; the node's process adds it. */
  readonly holder?: string;
}

/** The data plane's report, sent after each snapshot and when a port's state changes. */
export interface DataPlaneReport {
  /** The number of the snapshot that is served. */
  readonly applied: number;
  readonly listeners: readonly ListenerState[];
  /** Parts of the snapshot that cannot be served, such as a certificate that does not fit its key. */
  readonly problems: readonly string[];
}
