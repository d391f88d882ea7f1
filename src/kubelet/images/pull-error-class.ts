/**
 * What kind of failure a pull met. CRI has no codes for it: containerd answers most failures with the code Unknown and the texts of
 * its libraries, whose fixed parts (HTTP's status lines, Go's network errors) are looked for here. Pure.
 */
import { CriError } from '../../cri/cri-error.ts';
import type { PullErrorClass } from '../../api/pod-node-state.ts';

const BY_CODE: Readonly<Record<string, PullErrorClass>> = {
  NotFound: 'NotFound',
  Unauthenticated: 'Unauthorized',
  PermissionDenied: 'Unauthorized',
  ResourceExhausted: 'RateLimited',
  Unavailable: 'Network',
  DeadlineExceeded: 'Network',
};

/** In this order: a refusal of Docker Hub names both the credentials and a repository that may not exist. */
const BY_TEXT: readonly (readonly [RegExp, PullErrorClass])[] = [
  [/\b429 Too Many Requests\b|\btoomanyrequests\b/, 'RateLimited'],
  [/\b401 Unauthorized\b|\b403 Forbidden\b|\bauthorization failed\b|\binsufficient_scope\b/, 'Unauthorized'],
  [/\b404 Not Found\b|: not found$|^not found$|\bmanifest unknown\b/, 'NotFound'],
  [
    /\bno such host\b|\bconnection refused\b|\bi\/o timeout\b|\bnetwork is unreachable\b|\bx509: |\bTLS handshake timeout\b/,
    'Network',
  ],
];

/** As much of a text as is looked through. */
const MAX_CHARS = 8192;

export function pullErrorClass(error: unknown): PullErrorClass {
  if (!(error instanceof CriError)) return 'Unknown';
  const known = BY_CODE[error.code];
  if (known !== undefined) return known;
  const text = error.detail.slice(-MAX_CHARS);
  return BY_TEXT.find(([pattern]) => pattern.test(text))?.[1] ?? 'Unknown';
}
