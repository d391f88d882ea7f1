/** The clock, which certificates and tokens are checked by. */
import { formatTime } from '../../../api/time.ts';
import { failure, warning, worstOf, type Check, type Finding } from '../finding.ts';

/** Writes of other machines' clocks, on shared disks. */
const TOLERANCE_MS = 60_000;

export const time: Check = {
  name: 'time',
  check({ clock: { nowMs, isSynchronized, lastWriteMs } }) {
    const now = formatTime(nowMs);
    const sync = 'a time service: apt-get install systemd-timesyncd, or chrony';
    const problems: Finding[] = [];
    if (lastWriteMs !== undefined && nowMs < lastWriteMs - TOLERANCE_MS)
      problems.push(
        failure(`it is ${now}, but the cluster wrote at ${formatTime(lastWriteMs)}: the clock went back`, sync),
      );
    if (isSynchronized === false)
      problems.push(
        warning(
          `${now}, by a clock that no time service keeps right: certificates of other machines may seem invalid`,
          sync,
        ),
      );
    return worstOf(
      problems,
      `${now}, ${isSynchronized === true ? 'synchronized' : 'no program says whether it is synchronized'}`,
    );
  },
};
