/**
 * What the data plane of a node serves, whole: the controller sends it again at every change, the data plane replaces what
 * it had. It has no names of objects that the data plane would have to look up, and no credentials but certificates.
 */

/** Text or expression that a header or a query parameter must equal. */
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

/** A replaced path: the whole, or the part that the route's prefix matched. */
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
  /** The share of requests, of `denominator`. */
  readonly numerator: number;
  readonly denominator: number;
}

/** What happens to a request between match and backend. */
export interface RouteFilters {
  readonly requestHeaders?: HeaderChanges;
  readonly responseHeaders?: HeaderChanges;
  readonly redirect?: Redirect;
  readonly rewrite?: { readonly hostname?: string; readonly path?: PathChange };
  readonly mirrors?: readonly MirrorTarget[];
}

/** A backend's share of a rule's requests. */
export interface WeightedBackend {
  readonly backend: string;
  readonly weight: number;
  readonly filters?: RouteFilters;
}

/** One match with what follows from it. */
export interface Route {
  /** The object it comes from, for logs: `Ingress default/web`. */
  readonly source: string;
  /** Host names without port: `web.example`, `*.example`, or '' for all. */
  readonly host: string;
  /** Whether `*` of the host stands for several labels (Gateway API) or exactly one (Ingress). */
  readonly wildcardDepth: 'one' | 'many';
  readonly match: RouteMatch;
  readonly filters?: RouteFilters;
  /** None, or all of weight 0: requests get `emptyStatus`. */
  readonly backends: readonly WeightedBackend[];
  /** The answer where no backend can take the request. */
  readonly emptyStatus: 500 | 503;
  /** How long the whole request may take; 0 or absent: as long as it likes. */
  readonly requestTimeoutMs?: number;
  /** How long a backend may take until its answer begins. */
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
  /** With TLS: absent, the certificate is not verified. */
  readonly verification?: {
    /** What is asked for, and what the certificate must be valid for unless there are `altNames`. */
    readonly serverName: string;
    /** Absent: the authorities that Node.js knows. */
    readonly caPem?: string;
    /** The certificate must have one of them. */
    readonly altNames?: readonly { readonly type: 'DNS' | 'URI'; readonly value: string }[];
  };
}

/** A certificate for the names, which may begin with `*.`; the names of '' are for clients that ask for none known. */
export interface ServedCertificate {
  readonly names: readonly string[];
  readonly certPem: string;
  readonly keyPem: string;
}

/** TLS connections for a name that go to backends as they are. */
export interface Passthrough {
  /** The object it comes from, for logs: `TLSRoute default/web`. */
  readonly source: string;
  /** `web.example`, `*.example` for one or more labels, or '' for all. */
  readonly host: string;
  /** None, or all of weight 0: connections end. */
  readonly backends: readonly WeightedBackend[];
}

/** What is served on one port. */
export interface Listener {
  readonly port: number;
  readonly isTls: boolean;
  /** Those of a host in the order in which they are asked: the first that matches takes the request. */
  readonly routes: readonly Route[];
  readonly certificates: readonly ServedCertificate[];
  /** Beside the names in `terminated`; of several the most specific decides. Absent: all TLS is terminated. */
  readonly passthrough?: readonly Passthrough[];
  readonly terminated?: readonly string[];
}

export interface Snapshot {
  readonly listeners: readonly Listener[];
  readonly backends: Readonly<Record<string, Backend>>;
}

/** How the data plane stands with a port. */
export interface ListenerState {
  readonly port: number;
  /** Why it does not listen: Node's code, such as EADDRINUSE. */
  readonly problem?: string;
}

/** What the data plane reports after each snapshot and whenever a port's state changes. */
export interface DataPlaneReport {
  /** The number of the snapshot that is served. */
  readonly applied: number;
  readonly listeners: readonly ListenerState[];
  /** Parts of the snapshot that cannot be served, such as a certificate that does not fit its key. */
  readonly problems: readonly string[];
}
