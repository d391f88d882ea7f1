/** Certificates of the cluster: those that are over, and those that soon will be. */
import { formatTime } from '../../../api/time.ts';
import { smallest } from '../../../base/lists.ts';
import { failure, warning, worstOf, type Check, type Finding } from '../finding.ts';
import type { CertificateFile, Machine } from '../machine.ts';

const DAY_MS = 86_400_000;
/** A certificate, and an authority, that end within so long are worth a warning. */
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

/** An agent's own, without which it asks for another with a token alone. */
const MEMBERSHIP = '/kubelet-client-current.pem';
const JOIN_AGAIN = 'keelson token create on a server, then start with --token';

function problemsOf(file: CertificateFile, nowMs: number, { pid, settled }: Machine): Finding[] {
  const { path, times, error, isAuthority, renewsItself } = file;
  const needsToken = settled?.isMember === true && path.endsWith(MEMBERSHIP);
  if (times === undefined)
    return [failure(`${path} cannot be read: ${error}`, needsToken ? JOIN_AGAIN : 'restore it from a backup')];
  const { notBeforeMs, notAfterMs } = times;
  if (needsToken && nowMs >= notAfterMs) return [failure(`${path} ended on ${dateText(notAfterMs)}`, JOIN_AGAIN)];
  // A start makes those anew that have less than a third of their life left; an authority is what all others trust.
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
