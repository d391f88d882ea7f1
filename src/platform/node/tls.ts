/**
 * The TLS peer's verified certificate. It is read once per connection and once more when the server's client CA has
 * changed; whether it has expired is compared at each request. Upstream: authentication/request/x509, which verifies per request.
 */
import { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import { isHeaderValue } from '../../base/header-text.ts';
import { certificateBlocks } from '../certificate-blocks.ts';
import type { PeerCertificate } from '../http.ts';
import { smallest } from '../../base/lists.ts';

/** Kubernetes' own attribute; Node.js names unknown attributes by their number. */
const UID = '1.3.6.1.4.1.57683.2';

/** The present authorities of a server. */
export interface ClientTrust {
  authorities: readonly X509Certificate[];
}

/** The verification of a connection's certificate, by the authorities at that time. */
interface Finding {
  readonly trust: ClientTrust;
  /** The authorities by which TLS verified the peer. */
  readonly first: readonly X509Certificate[];
  authorities?: readonly X509Certificate[];
  /** Absent: there is no certificate, or it is not trusted. */
  peer?: PeerCertificate | undefined;
  /** The client presented a certificate, whether trusted or not. */
  isPresented?: boolean;
}

const findings = new WeakMap<TLSSocket, Finding>();

/** Parses authorities. @throws Error for an invalid certificate */
export function authoritiesOf(pem: string): readonly X509Certificate[] {
  return certificateBlocks(pem).map((block) => new X509Certificate(block));
}

/** Sets the authorities for the peer's certificate. Without this call a connection has no verified peer. */
export function verifyPeerBy(socket: TLSSocket, trust: ClientTrust): void {
  findings.set(socket, { trust, first: trust.authorities });
}

/** The peer's certificate, if the server's authorities trust it and it has not expired. */
export function verifiedPeer(socket: Socket | TLSSocket): PeerCertificate | undefined {
  const peer = findingOf(socket)?.peer;
  return peer !== undefined && Date.now() <= peer.expiresAtMs! ? peer : undefined;
}

/** Whether the peer's certificate is not trusted, or no longer valid. */
export function gaveRefusedCertificate(socket: Socket | TLSSocket): boolean {
  return findingOf(socket)?.isPresented === true && verifiedPeer(socket) === undefined;
}

function findingOf(socket: Socket | TLSSocket): Finding | undefined {
  const finding = findings.get(socket as TLSSocket);
  if (finding === undefined || finding.authorities === finding.trust.authorities) return finding;
  finding.authorities = finding.trust.authorities;
  const certificate = (socket as TLSSocket).getPeerCertificate(true);
  finding.isPresented = certificate?.fingerprint256 !== undefined;
  finding.peer = finding.isPresented && (socket as TLSSocket).authorized ? peerOf(certificate, finding) : undefined;
  return finding;
}

function peerOf(certificate: DetailedPeerCertificate, finding: Finding): PeerCertificate | undefined {
  const { CN, O, [UID]: uids } = certificate.subject as Readonly<Record<string, string | string[] | undefined>>;
  const commonName = [CN ?? ''].flat().at(-1)!;
  const organizations = [O ?? []].flat();
  // Names reach headers, logs and audit events: control characters are refused.
  if (![commonName, ...organizations, ...[uids ?? []].flat()].every(isHeaderValue)) return undefined;
  const leaf = new X509Certificate(certificate.raw);
  const authority = finding.trust.authorities.find((one) => isOf(leaf, one));
  // The client was verified by authorities that Node.js does not expose to a server: valid while nothing has changed.
  if (authority === undefined && finding.trust.authorities !== finding.first) return undefined;
  const authorityFingerprint256 = authority && plainHex(authority.fingerprint256);
  return {
    commonName,
    organizations,
    uids: uids === undefined ? undefined : [uids].flat(),
    fingerprint256: plainHex(leaf.fingerprint256),
    ...(authority && { authorityFingerprint256 }),
    isTrusted: trustNow(finding.trust, authorityFingerprint256),
    expiresAtMs: smallest([leaf, authority ?? leaf].map(({ validTo }) => Date.parse(validTo))),
  };
}

/** Whether the authorities are unchanged, or still include the certificate's. Holds no certificate in memory. */
function trustNow(trust: ClientTrust, authorityFingerprint256: string | undefined): () => boolean {
  const { authorities } = trust;
  return () =>
    trust.authorities === authorities ||
    trust.authorities.some(({ fingerprint256 }) => plainHex(fingerprint256) === authorityFingerprint256);
}

/** Whether the certificate is the authority itself or signed by it; an equal name proves nothing. */
function isOf(certificate: X509Certificate, authority: X509Certificate): boolean {
  if (certificate.fingerprint256 === authority.fingerprint256) return true;
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
}

function plainHex(fingerprint: string): string {
  return fingerprint.replaceAll(':', '').toLowerCase();
}
