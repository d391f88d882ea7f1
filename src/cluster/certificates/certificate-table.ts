/**
 * The validity of each certificate of a data directory: its end, and whether that is soon. Pure. Upstream: k3s
 * certificate check.
 */
import { formatTime } from '../../api/time.ts';
import { AUTHORITY_SOON_MS, SOON_MS } from '../doctor/checks/certificates.ts';
import type { CertificateFile } from '../doctor/machine.ts';

const DAY_MS = 86_400_000;

export type CertificateState = 'OK' | 'WARNING' | 'EXPIRED' | 'NOT YET VALID' | 'UNREADABLE';

export interface CertificateRow {
  /** The path below the folder of certificates: `etcd/ca.crt`. */
  readonly file: string;
  readonly subject: string;
  readonly type: 'authority' | 'certificate';
  readonly expires?: string;
  readonly residualDays?: number;
  readonly status: CertificateState;
  /** Why it is not OK. */
  readonly message?: string;
}

/** Rows in the order of the files, authorities first. */
export function certificateRows(
  files: readonly CertificateFile[],
  dir: string,
  nowMs: number,
): readonly CertificateRow[] {
  const rows = files.map((file) => rowOf(file, dir, nowMs));
  return [...rows.filter(({ type }) => type === 'authority'), ...rows.filter(({ type }) => type !== 'authority')];
}

/** Whether a certificate is invalid now or will be soon. */
export function isBroken({ status }: CertificateRow): boolean {
  return status !== 'OK' && status !== 'WARNING';
}

function rowOf(
  { path, isAuthority, times, error, subject = '' }: CertificateFile,
  dir: string,
  nowMs: number,
): CertificateRow {
  const row = { file: path.slice(dir.length + 1), subject, type: isAuthority ? 'authority' : 'certificate' } as const;
  if (times === undefined) return { ...row, status: 'UNREADABLE', message: error ?? '' };
  const { notBeforeMs, notAfterMs } = times;
  const left = { expires: formatTime(notAfterMs), residualDays: Math.floor((notAfterMs - nowMs) / DAY_MS) };
  if (nowMs < notBeforeMs)
    return { ...row, ...left, status: 'NOT YET VALID', message: `valid from ${formatTime(notBeforeMs)} on` };
  if (nowMs >= notAfterMs) return { ...row, ...left, status: 'EXPIRED', message: `ended on ${formatTime(notAfterMs)}` };
  const soonMs = isAuthority ? AUTHORITY_SOON_MS : SOON_MS;
  if (notAfterMs - nowMs > soonMs || path.endsWith('-current.pem')) return { ...row, ...left, status: 'OK' };
  return { ...row, ...left, status: 'WARNING', message: `ends within ${soonMs / DAY_MS} days` };
}
