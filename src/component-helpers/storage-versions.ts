/**
 * The storage version of a resource on which all API servers agree. Upstream: apiserver/pkg/storageversion, which the
 * servers and the garbage collector of these records share.
 */
import type {
  ServerStorageVersion,
  StorageVersion,
  StorageVersionCondition,
  StorageVersionStatus,
} from '../api/gen/apiserverinternal-v1alpha1.ts';
import { formatTime } from '../api/time.ts';

const TYPE = 'AllEncodingVersionsEqual';

/** Distinguishes the leases of API servers from other leases in kube-system. */
export const IDENTITY_LABEL = 'apiserver.kubernetes.io/identity';

/** Value of that label. */
export const API_SERVER_IDENTITY = 'kube-apiserver';

/** The status with these servers' records: the common version, if they all write the same, and the condition. Pure. */
export function statusOfServers(
  { metadata, status }: Pick<StorageVersion, 'metadata' | 'status'>,
  storageVersions: readonly ServerStorageVersion[],
  nowMs: number,
): StorageVersionStatus {
  const encodings = new Set(storageVersions.map(({ encodingVersion }) => encodingVersion));
  const [common] = encodings.size === 1 ? encodings : [];
  const set = common === undefined ? 'Unset' : 'Set';
  const before = status?.conditions?.find(({ type }) => type === TYPE);
  const isTrue = common === undefined ? 'False' : 'True';
  // From one common version to another counts as a transition too.
  const moved = status?.commonEncodingVersion !== undefined && common !== undefined;
  const stays = before?.status === isTrue && !(moved && status.commonEncodingVersion !== common);
  const condition: StorageVersionCondition = {
    type: TYPE,
    status: isTrue,
    observedGeneration: metadata.generation ?? 0,
    reason: `CommonEncodingVersion${set}`,
    message: `Common encoding version ${set.toLowerCase()}`,
    lastTransitionTime: (stays ? before?.lastTransitionTime : undefined) ?? formatTime(nowMs),
  };
  const others = (status?.conditions ?? []).filter(({ type }) => type !== TYPE);
  return {
    storageVersions: [...storageVersions],
    ...(common === undefined ? {} : { commonEncodingVersion: common }),
    conditions: [...others, condition],
  };
}
