/** The TLS peer's verified certificate, read once per connection. */
import type { Socket } from 'node:net';
import { type DetailedPeerCertificate, TLSSocket } from 'node:tls';
import type { PeerCertificate } from '../http.ts';

/** Kubernetes' own attribute; Node names those it does not know by their number. */
const UID = '1.3.6.1.4.1.57683.2';
const peers = new WeakMap<TLSSocket, PeerCertificate | null>();

/** The peer's certificate, when it gave one and the server's client CA vouches for it. */
export function verifiedPeer(socket: Socket | TLSSocket): PeerCertificate | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  let peer = peers.get(socket);
  if (peer === undefined) {
    peer = socket.authorized ? toPeer(socket.getPeerCertificate(true)) : null;
    peers.set(socket, peer);
  }
  return peer ?? undefined;
}

function toPeer(certificate: DetailedPeerCertificate): PeerCertificate | null {
  if (certificate.fingerprint256 === undefined) return null;
  const issuer = certificate.issuerCertificate?.fingerprint256;
  const { CN, O, [UID]: uids } = certificate.subject as Readonly<Record<string, string | string[] | undefined>>;
  return {
    commonName: [CN ?? ''].flat().at(-1)!,
    organizations: [O ?? []].flat(),
    ...(uids === undefined ? {} : { uids: [uids].flat() }),
    fingerprint256: plainHex(certificate.fingerprint256),
    expiresAtMs: Date.parse(certificate.valid_to),
    ...(issuer === undefined ? {} : { issuerFingerprint256: plainHex(issuer) }),
  };
}

function plainHex(fingerprint: string): string {
  return fingerprint.replaceAll(':', '').toLowerCase();
}
