/**
 * A snapshot before it is written: what several routes or listeners share is one object that all of them refer to, so that
 * its size is linear in that of the cluster's objects.
 */
import type { Backend, Passthrough, Route, RouteMatch } from './snapshot.ts';

/** What follows from a match. All matches of a rule refer to one. */
export type RouteRule = Omit<Route, 'host' | 'match'>;

/** One match at all of its hosts. */
export interface PlannedRoute {
  readonly rule: RouteRule;
  readonly match: RouteMatch;
  readonly hosts: readonly string[];
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
  /** Its own names hold after `names`. */
  readonly withOwnNames: boolean;
  /** When the object that names it was created: of several that claim a name, the older has it. */
  readonly since: string;
}

/** What becomes of the connections of a TLSRoute, at all of its hosts. */
export interface PlannedPassthrough {
  readonly rule: Omit<Passthrough, 'host'>;
  readonly hosts: readonly string[];
}

export interface PlannedListener {
  readonly port: number;
  readonly isTls: boolean;
  /** In the order in which they are asked. */
  readonly routes: readonly PlannedRoute[];
  readonly certificates: readonly PlannedCertificate[];
  readonly passthrough?: readonly PlannedPassthrough[];
  /** The host names that are terminated on a port with `passthrough`. */
  readonly terminated?: readonly string[];
}

export interface SnapshotPlan {
  readonly listeners: readonly PlannedListener[];
  readonly backends: Readonly<Record<string, Backend>>;
}
