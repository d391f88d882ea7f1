/**
 * Classifies a failed pull. CRI has no codes for it: containerd returns most failures with the code Unknown and its
 * libraries' messages, whose fixed parts (HTTP status lines, Go's network errors) are searched here. Pure.
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

/** The order matters: Docker Hub's refusal names both the credentials and a repository that may not exist. */
const BY_TEXT: readonly (readonly [RegExp, PullErrorClass])[] = [
  [/\b429 Too Many Requests\b|\btoomanyrequests\b/, 'RateLimited'],
  [/\b401 Unauthorized\b|\b403 Forbidden\b|\bauthorization failed\b|\binsufficient_scope\b/, 'Unauthorized'],
  [/\b404 Not Found\b|: not found$|^not found$|\bmanifest unknown\b/, 'NotFound'],
  [
    /\bno such host\b|\bconnection refused\b|\bi\/o timeout\b|\bnetwork is unreachable\b|\bx509: |\bTLS handshake timeout\b/,
    'Network',
  ],
];

/** What a registry, or a proxy before it, answered is no image; containerd adds `not found`, of content it did not get. */
const NO_IMAGE = /\bunexpected media type\b|\bfailed to unpack image on\b/;

/** The part of a message that is searched. */
const MAX_CHARS = 8192;

export function pullErrorClass(error: unknown): PullErrorClass {
  if (!(error instanceof CriError)) return 'Unknown';
  const text = error.detail.slice(-MAX_CHARS);
  if (NO_IMAGE.test(text)) return 'Unknown';
  const errorClass = BY_CODE[error.code];
  if (errorClass !== undefined) return errorClass;
  return BY_TEXT.find(([pattern]) => pattern.test(text))?.[1] ?? 'Unknown';
}
