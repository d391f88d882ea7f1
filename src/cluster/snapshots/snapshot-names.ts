/**
 * Names of snapshots in a folder or bucket, and which of them retention removes. Pure. Upstream: k3s's pkg/etcd.
 *
 * Differs on purpose: retention counts the snapshots of one base name and one node, not all names with the same
 * prefix, so that servers sharing a bucket, and base names with a common prefix, do not remove each other's
 * snapshots.
 */

/** A stored snapshot. */
export interface SnapshotFile {
  readonly name: string;
  readonly sizeBytes: number;
  readonly createdMs: number;
}

/** The snapshots of one node with one base name: `snapshot`, `on-demand` or a name that the user chose. */
export interface SnapshotSeries {
  readonly base: string;
  readonly nodeName: string;
}

/** The syntax of a base name, which is part of a file name and of a key in a bucket. */
const BASE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** The validation error of a base name; undefined for a valid one. */
export function baseNameProblem(text: string): string | undefined {
  return BASE_NAME.test(text)
    ? undefined
    : `${text} is no base name: up to 100 letters, digits, '.', '_' and '-', beginning with a letter or digit`;
}

/** `snapshot-node1-1764342000`, as k3s names them. */
export function snapshotName({ base, nodeName }: SnapshotSeries, nowMs: number): string {
  return `${base}-${nodeName}-${Math.floor(nowMs / 1000)}`;
}

/** The creation time in a snapshot's name; undefined for other file names. */
export function createdMsOf(name: string): number | undefined {
  const seconds = /-(\d{9,11})$/.exec(name)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

/**
 * The snapshots of a series, the newest first. Snapshots dated after `nowMs` were made while the clock was wrong:
 * they are sorted last, so that retention removes them before newer ones.
 */
export function ofSeries<F extends SnapshotFile>(
  files: readonly F[],
  { base, nodeName }: SnapshotSeries,
  nowMs: number,
): F[] {
  const head = `${base}-${nodeName}-`;
  return files
    .filter(({ name }) => name.startsWith(head) && /^\d{9,11}$/.test(name.slice(head.length)))
    .toSorted(
      (one, other) =>
        Number(one.createdMs > nowMs) - Number(other.createdMs > nowMs) || other.createdMs - one.createdMs,
    );
}

/** The snapshots of a series beyond the newest `retention`. 0 keeps all. */
export function excessSnapshots<F extends SnapshotFile>(
  files: readonly F[],
  series: SnapshotSeries,
  { retention, nowMs }: { readonly retention: number; readonly nowMs: number },
): F[] {
  return retention === 0 ? [] : ofSeries(files, series, nowMs).slice(retention);
}
