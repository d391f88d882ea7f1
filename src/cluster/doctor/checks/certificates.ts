/** Certificates of the cluster that have expired or soon will. */
import { formatTime } from '../../../api/time.ts';
import { smallest } from '../../../base/lists.ts';
import { failure, warning, worstOf, type Check, type Finding } from '../finding.ts';
import type { CertificateFile, Machine } from '../machine.ts';

const DAY_MS = 86_400_000;
/** How long before its expiry a certificate, or an authority, causes a warning. */
export const [SOON_MS, AUTHORITY_SOON_MS] = [30 * DAY_MS, 365 * DAY_MS];

export const certificates: Check = {
  name: 'certificates',
  check(machine) {
    const { certificates: files, clock } = machine;
    if (files.length === 0) return { level: 'ok', message: 'none yet' };
    const lasting = files.filter(({ renewsItself }) => !renewsItself);
    const ends = lasting.flatMap(({ times }) => (times === undefined ? [] : [times.notAfterMs]));
    const first = ends.length === 0 ? 'all are renewed in time' : `the first ends on ${dateText(smallest(ends))}`;
    return worstOf(
      files.flatMap((file) => problemsOf(file, clock.nowMs, machine)),
      `${files.length}, ${first}`,
    );
  },
};

/** An agent's own certificate. Without it the agent needs a token to get another. */
const MEMBERSHIP = '/kubelet-client-current.pem';
const JOIN_AGAIN = 'keelson token create on a server, then start with --token';

function problemsOf(file: CertificateFile, nowMs: number, { pid, settled }: Machine): Finding[] {
  const { path, times, error, isAuthority, renewsItself } = file;
  const needsToken = settled?.isMember === true && path.endsWith(MEMBERSHIP);
  if (times === undefined)
    return [failure(`${path} cannot be read: ${error}`, needsToken ? JOIN_AGAIN : 'restore it from a backup')];
  const { notBeforeMs, notAfterMs } = times;
  if (needsToken && nowMs >= notAfterMs) return [failure(`${path} ended on ${dateText(notAfterMs)}`, JOIN_AGAIN)];
  // A start renews certificates with less than a third of their life left, but not the authority, which everything
  // trusts.
  const cure = isAuthority
    ? 'no start renews an authority: make a new cluster and move the objects'
    : pid === undefined
      ? 'a start renews it'
      : 'restart Keelson, which renews it; pods go on';
  const end = dateText(notAfterMs);
  if (nowMs < notBeforeMs)
    return [failure(`${path} is valid from ${formatTime(notBeforeMs)} on`, 'set the clock of this machine')];
  if (nowMs >= notAfterMs)
    return [
      pid === undefined && !isAuthority
        ? warning(`${path} ended on ${end}`, cure)
        : failure(`${path} ended on ${end}`, cure),
    ];
  const soonMs = isAuthority ? AUTHORITY_SOON_MS : SOON_MS;
  return renewsItself || notAfterMs - nowMs > soonMs ? [] : [warning(`${path} ends on ${end}`, cure)];
}

function dateText(timeMs: number): string {
  return formatTime(timeMs).slice(0, 10);
}
