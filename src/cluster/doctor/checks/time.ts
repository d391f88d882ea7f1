/** The clock, on which the validity of certificates and tokens depends. */
import { formatTime } from '../../../api/time.ts';
import { failure, warning, worstOf, type Check, type Finding } from '../finding.ts';

/** Files on shared disks may have times of other machines' clocks. */
const TOLERANCE_MS = 60_000;

export const time: Check = {
  name: 'time',
  check({ clock: { nowMs, isSynchronized, service, lastWriteMs } }) {
    const now = formatTime(nowMs);
    const problems: Finding[] = [];
    if (lastWriteMs !== undefined && nowMs < lastWriteMs - TOLERANCE_MS)
      problems.push(
        failure(
          `it is ${now}, but the cluster wrote at ${formatTime(lastWriteMs)}: the clock went back`,
          'set the clock of this machine',
        ),
      );
    if (isSynchronized === false)
      problems.push(
        warning(
          `${now}, by a clock that no time service keeps right: certificates of other machines may seem invalid`,
          service === undefined
            ? 'a time service: apt-get install systemd-timesyncd, or chrony'
            : `systemctl status ${service}: it runs, or should, but has not synchronized the clock`,
        ),
      );
    return worstOf(
      problems,
      `${now}, ${isSynchronized === true ? 'synchronized' : 'no program says whether it is synchronized'}`,
    );
  },
};
