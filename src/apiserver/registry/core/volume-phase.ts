/**
 * The time of a volume's last phase transition: the server's, unless the writer of the status sets it. Upstream:
 * registry/core/persistentvolume.
 */
import type { PersistentVolume } from '../../../api/gen/core-v1.ts';
import { formatTime } from '../../../api/time.ts';
import type { Clock } from '../../../platform/clock.ts';

/** Sets the time in the draft. `old`: undefined for a new volume. */
export function stampPhase(draft: PersistentVolume, old: PersistentVolume | undefined, clock: Clock): void {
  const status = { ...draft.status };
  const before = old?.status?.lastPhaseTransitionTime;
  const isSamePhase = old !== undefined && status.phase === old.status?.phase;
  if (isSamePhase) status.lastPhaseTransitionTime ??= before;
  else if ((status.lastPhaseTransitionTime ?? before) === before)
    status.lastPhaseTransitionTime = formatTime(clock.nowMs());
  if (status.lastPhaseTransitionTime === undefined) delete status.lastPhaseTransitionTime;
  draft.status = status;
}
