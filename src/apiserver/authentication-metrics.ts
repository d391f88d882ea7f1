/**
 * Authentication attempts over the network, under upstream's names. Plain numbers: they change with every request. Upstream:
 * apiserver/pkg/endpoints/filters/metrics.go and authentication/request/x509.
 */
import type { ApiRequest, Principal } from '../api/transport.ts';
import { exposeHead, exposeHistogram } from './histogram-text.ts';

const EXPIRY_SECONDS = [
  0, 1800, 3600, 7200, 21_600, 43_200, 86_400, 172_800, 345_600, 604_800, 2_592_000, 7_776_000, 15_552_000, 31_104_000,
];
const KNOWN_NAMES: ReadonlySet<string> = new Set([
  'admin',
  'client',
  'kube_proxy',
  'kubelet',
  'system:serviceaccount:kube-system:default',
]);

export class AuthenticationMetrics {
  readonly #byName = new Map<string, number>();
  readonly #expiry = { counts: EXPIRY_SECONDS.map(() => 0), sum: 0, total: 0 };
  #succeeded = 0;
  #failed = 0;

  /** Counts a request whose user is known. */
  succeeded(request: ApiRequest, { name }: Principal, nowMs: number): void {
    this.#succeeded++;
    const label = classOf(name);
    this.#byName.set(label, (this.#byName.get(label) ?? 0) + 1);
    const expiresAtMs = request.peerCertificate?.expiresAtMs;
    if (expiresAtMs === undefined) return;
    const seconds = (expiresAtMs - nowMs) / 1000;
    this.#expiry.sum += seconds;
    this.#expiry.total++;
    const bucket = EXPIRY_SECONDS.findIndex((bound) => seconds <= bound);
    if (bucket >= 0) this.#expiry.counts[bucket]!++;
  }

  /** Counts a request that no authenticator recognized. */
  failed(): void {
    this.#failed++;
  }

  /** Appends Prometheus text. */
  expose(lines: string[]): void {
    exposeHead(lines, 'authentication_attempts', 'counter', 'Requests whose sender was to be known, by result.');
    lines.push(`authentication_attempts{result="success"} ${this.#succeeded}`);
    lines.push(`authentication_attempts{result="failure"} ${this.#failed}`);
    exposeHead(lines, 'authenticated_user_requests', 'counter', 'Requests whose sender is known, by kind of name.');
    for (const [name, count] of this.#byName) lines.push(`authenticated_user_requests{username="${name}"} ${count}`);
    const name = 'apiserver_client_certificate_expiration_seconds';
    exposeHead(lines, name, 'histogram', 'Time left to the certificates that requests came with.');
    exposeHistogram(lines, { name, labels: '', bounds: EXPIRY_SECONDS }, this.#expiry);
  }
}

/** There are as many user names as clients: upstream counts only a few of them separately. */
function classOf(name: string): string {
  if (KNOWN_NAMES.has(name)) return name;
  return name.includes('@') ? 'email_id' : 'other';
}
