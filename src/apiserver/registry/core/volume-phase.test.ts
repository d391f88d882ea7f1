/** The time at which a volume entered its phase. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolume, PersistentVolumeStatus } from '../../../api/gen/core-v1.ts';
import { VirtualClock } from '../../../platform/sim/virtual-clock.ts';
import { formatTime } from '../../../api/time.ts';
import { stampPhase } from './volume-phase.ts';

const BEFORE = '2020-01-01T00:00:00Z';
const OTHER = '2021-01-01T00:00:00Z';

test('a new phase has the time of the server, or that of the request', () => {
  const clock = new VirtualClock();
  const now = formatTime(clock.nowMs());
  const volume = (status: PersistentVolumeStatus): PersistentVolume => ({ metadata: { name: 'v' }, status });
  const after = (status: PersistentVolumeStatus, old?: PersistentVolumeStatus): string | undefined => {
    const draft = volume(status);
    stampPhase(draft, old && volume(old), clock);
    return draft.status?.lastPhaseTransitionTime;
  };
  const pending = { phase: 'Pending', lastPhaseTransitionTime: BEFORE };
  assert.equal(after({ phase: 'Pending' }), now);
  assert.equal(after({ phase: 'Pending' }, pending), BEFORE);
  assert.equal(after({ phase: 'Bound' }, pending), now);
  assert.equal(after({ phase: 'Bound', lastPhaseTransitionTime: BEFORE }, pending), now);
  assert.equal(after({ phase: 'Bound', lastPhaseTransitionTime: OTHER }, pending), OTHER);
  assert.equal(after({ phase: 'Pending', lastPhaseTransitionTime: OTHER }, pending), OTHER);
  assert.equal(after({ phase: 'Pending' }, { phase: 'Pending' }), undefined);
});
