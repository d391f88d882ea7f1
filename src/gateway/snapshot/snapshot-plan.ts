/**
 * A snapshot before it is written: parts that several routes or listeners share are one object, so that its size is linear in
 * that of the cluster's objects.
 */
import type { Backend, Passthrough, Route, RouteMatch } from './snapshot.ts';

/** The actions of a match, which all matches of a rule share. */
export type RouteRule = Omit<Route, 'host' | 'match' | 'except'>;

/** One match at all of its hosts. */
export interface PlannedRoute {
  readonly rule: RouteRule;
  readonly match: RouteMatch;
  readonly hosts: readonly string[];
  /** Host names, or wildcards, covered by its hosts, at which it does not match. */
  readonly except?: readonly string[] | undefined;
}

/** The certificate of a Secret. */
export interface Certificate {
  readonly certPem: string;
  readonly keyPem: string;
  /** The DNS names in the certificate. */
  readonly ownNames: readonly string[];
}

/** A certificate at a listener. */
export interface PlannedCertificate {
  readonly certificate: Certificate;
  readonly names: readonly string[];
  /** The certificate's own names are added after `names`. */
  readonly withOwnNames: boolean;
  /** The creation time of the object that names it; the older of several objects with one name has it. */
  readonly since: string;
}

/** The target of a TLSRoute's connections, at all of its hosts. */
export interface PlannedPassthrough {
  readonly rule: Omit<Passthrough, 'host'>;
  readonly hosts: readonly string[];
}

export interface PlannedListener {
  readonly port: number;
  readonly isTls: boolean;
  /** In the order of precedence. */
  readonly routes: readonly PlannedRoute[];
  readonly certificates: readonly PlannedCertificate[];
  readonly passthrough?: readonly PlannedPassthrough[];
  /** The host names at which HTTP is served on a port with `passthrough`. */
  readonly terminated?: readonly string[];
  /** HTTP is served at no name. */
  readonly isTcp?: boolean;
}

export interface SnapshotPlan {
  readonly listeners: readonly PlannedListener[];
  readonly backends: Readonly<Record<string, Backend>>;
}
