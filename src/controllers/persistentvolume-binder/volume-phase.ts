/** The phase of volumes, and the reclaiming of a volume whose claim is gone. */
import type { PersistentVolume } from '../../api/gen/core-v1.ts';
import { PersistentVolumes } from '../../api/gen/resources.ts';
import type { Stored } from '../../api/object.ts';
import { formatTime } from '../../api/time.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import type { Clock } from '../../platform/clock.ts';

const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';

interface VolumePhaseDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly recorder: EventRecorder;
}

/** Applies the reclaim policy of a volume whose claim is gone. Upstream: reclaimVolume. */
export async function reclaimVolume(
  deps: VolumePhaseDeps,
  volume: Stored<PersistentVolume>,
  signal: AbortSignal,
): Promise<void> {
  const policy = volume.spec?.persistentVolumeReclaimPolicy ?? 'Retain';
  const external = volume.spec?.csi !== undefined || volume.metadata.annotations?.[PROVISIONED_BY] !== undefined;
  if (volume.status?.phase === 'Failed') return;
  if (policy === 'Retain' || (policy === 'Delete' && external))
    return await updateVolumePhase(deps, volume, { phase: 'Released' }, signal);
  const name = volume.metadata.name;
  const message =
    policy === 'Recycle'
      ? 'no volume plugin matched'
      : `error getting deleter volume plugin for volume "${name}": no volume plugin matched`;
  deps.recorder.event(volume, 'Warning', policy === 'Recycle' ? 'VolumeFailedRecycle' : 'VolumeFailedDelete', message);
  await updateVolumePhase(deps, volume, { phase: 'Failed', message }, signal);
}

/** Upstream: updateVolumePhase. */
export async function updateVolumePhase(
  { client, clock }: Pick<VolumePhaseDeps, 'client' | 'clock'>,
  volume: PersistentVolume,
  next: { readonly phase: string; readonly message?: string },
  signal: AbortSignal,
): Promise<void> {
  const { phase, message = '' } = volume.status ?? {};
  if (phase === next.phase && message === (next.message ?? '')) return;
  const status = {
    ...next,
    ...(phase === next.phase ? {} : { lastPhaseTransitionTime: formatTime(clock.nowMs()) }),
  };
  await client.resource(PersistentVolumes).updateStatus({ ...volume, status }, { signal });
}
