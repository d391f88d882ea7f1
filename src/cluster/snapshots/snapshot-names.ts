/**
 * Names of snapshots in a folder or bucket, and which of them are too many. Pure. Upstream: k3s's pkg/etcd.
 *
 * Differs on purpose: retention counts the snapshots of one base name and one node, not all whose name begins alike, so
 * that servers that share a bucket, and base names that begin alike, remove nothing of one another.
 */

/** A snapshot that is kept somewhere. */
export interface SnapshotFile {
  readonly name: string;
  readonly sizeBytes: number;
  readonly createdMs: number;
}

/** A series of snapshots: `base` is `snapshot`, `on-demand` or a name that the user chose. */
export interface SnapshotSeries {
  readonly base: string;
  readonly nodeName: string;
}

/** What a base name may be: part of a file's name and of a key in a bucket. */
const BASE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** What is wrong with a base name, or undefined. */
export function baseNameProblem(text: string): string | undefined {
  return BASE_NAME.test(text)
    ? undefined
    : `${text} is no base name: up to 100 letters, digits, '.', '_' and '-', beginning with a letter or digit`;
}

/** `snapshot-node1-1764342000`, as k3s names them. */
export function snapshotName({ base, nodeName }: SnapshotSeries, nowMs: number): string {
  return `${base}-${nodeName}-${Math.floor(nowMs / 1000)}`;
}

/** When a snapshot was made, by its name; undefined for files that were named otherwise. */
export function createdMsOf(name: string): number | undefined {
  const seconds = /-(\d{9,11})$/.exec(name)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

/**
 * The snapshots of a series, the newest first. What is of the future was made before `nowMs` by a clock that was wrong: it
 * comes last, so that retention does not remove what is made since.
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

/** Those beyond the newest `retention` of a series. 0 keeps all. */
export function excessSnapshots<F extends SnapshotFile>(
  files: readonly F[],
  series: SnapshotSeries,
  { retention, nowMs }: { readonly retention: number; readonly nowMs: number },
): F[] {
  return retention === 0 ? [] : ofSeries(files, series, nowMs).slice(retention);
}
