/**
 * The certificates of a port that several Gateways serve: each host has the certificates of the Gateway with precedence for it.
 * Otherwise a listener in one namespace could terminate the TLS of a host whose routes are in another.
 */
import type { Steps } from '../../base/steps.ts';
import type { Certificate, PlannedCertificate } from '../snapshot/snapshot-plan.ts';
import type { HostOrder } from './host-order.ts';
import { namesAndWildcards } from './hostnames.ts';
import type { ResolvedListener } from './listeners.ts';

/** A certificate may have a longer name, but no client can request it. */
const MAX_NAME_LENGTH = 253;

interface CertificatePort {
  readonly port: number;
  /** The served listeners of the port. */
  readonly listeners: readonly ResolvedListener[];
  /** Hosts whose connections belong to TLSRoutes. */
  readonly passed: ReadonlyMap<string, unknown>;
}

/** One step for each host and each name of a certificate. */
export function* certificatesOfPort(on: CertificatePort, order: HostOrder): Steps<PlannedCertificate[]> {
  const { port, listeners } = on;
  if (!order.isShared(port)) return listeners.flatMap(({ certificates }) => certificates);
  const plannedCertificates = yield* certificatesOfHosts(on, order);
  for (const listener of listeners)
    for (const planned of listener.certificates)
      plannedCertificates.push(yield* withoutOthers(planned, listener, { on, order }));
  return plannedCertificates;
}

/** The certificates of hosts that routes name. */
function* certificatesOfHosts(
  { port, listeners, passed }: CertificatePort,
  order: HostOrder,
): Steps<PlannedCertificate[]> {
  const byName = new Map<unknown, Map<string, ResolvedListener>>();
  for (const one of listeners) {
    if (!one.isHttp) continue;
    const ofGateway = byName.get(one.gateway) ?? new Map<string, ResolvedListener>();
    byName.set(one.gateway, ofGateway.set((one.listener.hostname ?? '').toLowerCase(), one));
  }
  const names = new Map<PlannedCertificate, Map<string, string[]>>();
  for (const [host, { gateway, since }] of order.firstOnes(port)) {
    yield;
    if (passed.has(host)) continue;
    const ofGateway = byName.get(gateway);
    const listener = namesAndWildcards(host).flatMap((name) => ofGateway?.get(name) ?? [])[0];
    const planned = listener && certificateFor(host, listener.certificates);
    if (planned === undefined) continue;
    const bySince = names.get(planned) ?? new Map<string, string[]>();
    names.set(planned, bySince);
    bySince.set(since, bySince.get(since) ?? []);
    bySince.get(since)!.push(host);
  }
  return [...names].flatMap(([{ certificate }, bySince]) =>
    [...bySince].map(([since, hosts]) => ({ certificate, names: hosts, withOwnNames: false, since })),
  );
}

const lowerNames = new WeakMap<Certificate, ReadonlySet<string>>();

/** The names of a certificate, possibly thousands, in lower case. */
function namesIn(certificate: Certificate): ReadonlySet<string> {
  let names = lowerNames.get(certificate);
  if (names === undefined)
    lowerNames.set(certificate, (names = new Set(certificate.ownNames.map((name) => name.toLowerCase()))));
  return names;
}

/** The certificate for the name; of several the one whose own name it is, else the first. */
function certificateFor(host: string, certificates: readonly PlannedCertificate[]): PlannedCertificate | undefined {
  const wildcard = `*${host.slice(host.indexOf('.'))}`;
  const isOf = (names: ReadonlySet<string>): boolean => names.has(host) || names.has(wildcard);
  return certificates.find(({ certificate }) => isOf(namesIn(certificate))) ?? certificates[0];
}

/** The certificate for the names that no other Gateway has. */
function* withoutOthers(
  planned: PlannedCertificate,
  { gateway, isHttp }: ResolvedListener,
  { on: { port, passed }, order }: { readonly on: CertificatePort; readonly order: HostOrder },
): Steps<PlannedCertificate> {
  const names: string[] = [];
  for (const name of [...planned.names, ...planned.certificate.ownNames]) {
    yield;
    if (name.length > MAX_NAME_LENGTH) continue;
    const host = name.toLowerCase();
    // For TLSRoutes only the host itself can cover a name, for HTTP routes wildcards can, too.
    const covering = passed.has(host) ? [] : isHttp ? namesAndWildcards(host) : [host];
    const holder = covering.map((one) => order.first(port, one)).find(Boolean);
    if (holder === undefined || holder.gateway === gateway) names.push(name);
  }
  return { ...planned, names, withOwnNames: false };
}
