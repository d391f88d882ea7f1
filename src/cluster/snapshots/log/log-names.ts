/**
 * Names of the files of change logs; which moments they can restore, and which of them are no longer needed. Pure.
 *
 * A log is a folder `log/<base name>-<node>-<identity of the store>` beside the snapshots, with segments
 * `<after>-<to>-<first ms>-<last ms>.log.gz` and, for each snapshot of that store, `<revision>-<ms>-<snapshot>.base`.
 */
import type { LogEnd } from '../../../storage/sqlite/change-log/log-files.ts';
import type { SnapshotSeries } from '../snapshot-names.ts';

/** A file of a log, in a folder or a bucket. */
export interface LogFile {
  readonly name: string;
  readonly sizeBytes: number;
}

/** The changes after one revision up to another. */
export interface LogSegment extends LogFile {
  readonly after: number;
  readonly to: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** A snapshot's position in the log of its store. */
export interface LogBase extends LogFile {
  readonly revision: number;
  readonly timeMs: number;
  readonly snapshot: string;
}

export interface LogContent {
  /** Sorted by revision, without those that a longer segment replaces. */
  readonly segments: readonly LogSegment[];
  /**
   * The bases whose snapshots exist, sorted by revision. Where two bases name the same snapshot (made twice within a
   * second, or after the clock was set back), the later one is used.
   */
  readonly bases: readonly LogBase[];
  /**
   * Files that are no longer needed: replaced segments and bases, bases without their snapshot, changes before the
   * first base.
   */
  readonly useless: readonly string[];
}

/** Every moment between the two ends can be restored. */
export interface LogRange {
  readonly fromRevision: number;
  readonly fromMs: number;
  readonly toRevision: number;
  readonly toMs: number;
}

/** A snapshot with the segments that lead from it to a moment. */
export interface LogPath {
  readonly base: LogBase;
  readonly segments: readonly LogSegment[];
}

const SEGMENT = /^(\d+)-(\d+)-(\d+)-(\d+)\.log\.gz$/;
const BASE = /^(\d+)-(\d+)-(.+)\.base$/;

/** The name of the folder of logs in the folder of snapshots. */
export const LOG_FOLDER = 'log';

export function logFolderName({ base, nodeName }: SnapshotSeries, identity: string): string {
  return `${base}-${nodeName}-${identity}`;
}

export function isLogOf({ base, nodeName }: SnapshotSeries, folder: string): boolean {
  const head = `${base}-${nodeName}-`;
  return folder.startsWith(head) && /^[0-9a-f]{16}$/.test(folder.slice(head.length));
}

export function segmentName({ after, to, firstMs, lastMs }: Omit<LogSegment, 'name' | 'sizeBytes'>): string {
  return `${after}-${to}-${Math.floor(firstMs)}-${Math.floor(lastMs)}.log.gz`;
}

export function baseName({ revision, timeMs, snapshot }: Omit<LogBase, 'name' | 'sizeBytes'>): string {
  return `${revision}-${Math.floor(timeMs)}-${snapshot}.base`;
}

/** Classifies the files of one log. `snapshots`: names of the existing snapshots; absent: all that the log names. */
export function readLogContent(files: readonly LogFile[], snapshots?: ReadonlySet<string>): LogContent {
  const named = new Map<string, LogBase>();
  const logSegments: LogSegment[] = [];
  const useless: string[] = [];
  for (const file of files) {
    const segment = SEGMENT.exec(file.name);
    const base = BASE.exec(file.name);
    if (segment !== null) {
      const [after = 0, to = 0, firstMs = 0, lastMs = 0] = segment.slice(1).map(Number);
      logSegments.push({ ...file, after, to, firstMs, lastMs });
    } else if (base !== null) {
      const one = { ...file, revision: Number(base[1]), timeMs: Number(base[2]), snapshot: base[3]! };
      const other = named.get(one.snapshot);
      const [kept, replaced] = (other?.revision ?? -1) < one.revision ? [one, other] : [other!, one];
      named.set(one.snapshot, kept);
      if (replaced !== undefined) useless.push(replaced.name);
    }
  }
  const bases: LogBase[] = [];
  for (const base of [...named.values()].toSorted((one, other) => one.revision - other.revision)) {
    if (snapshots?.has(base.snapshot) === false) useless.push(base.name);
    else bases.push(base);
  }
  const first = bases[0]?.revision ?? 0;
  const segments: LogSegment[] = [];
  let end = 0;
  for (const segment of logSegments.toSorted((one, other) => one.after - other.after || other.to - one.to)) {
    if (segment.to <= end || segment.to <= first) useless.push(segment.name);
    else segments.push(segment);
    end = Math.max(end, segment.to);
  }
  return { segments, bases, useless };
}

/** The ranges that can be restored, the oldest first. */
export function logRanges(content: Pick<LogContent, 'segments' | 'bases'>): readonly LogRange[] {
  const ranges: LogRange[] = [];
  for (const base of content.bases) {
    if (base.revision <= (ranges.at(-1)?.toRevision ?? -1)) continue;
    const last = segmentsFrom(content.segments, base).at(-1);
    const { revision: fromRevision, timeMs: fromMs } = base;
    ranges.push({ fromRevision, fromMs, toRevision: last?.to ?? fromRevision, toMs: last?.lastMs ?? fromMs });
  }
  return ranges;
}

/**
 * The path from the nearest snapshot to the end. `lastRevision`: the store's last revision, if known. Undefined when
 * no snapshot leads to the end.
 */
export function logPathTo(
  content: Pick<LogContent, 'segments' | 'bases'>,
  end: LogEnd,
  lastRevision: number | undefined,
): LogPath | undefined {
  for (const base of content.bases.toReversed()) {
    if ('revision' in end ? base.revision > end.revision : base.timeMs > end.timeMs) continue;
    const all = segmentsFrom(content.segments, base);
    const last = { revision: all.at(-1)?.to ?? base.revision, timeMs: all.at(-1)?.lastMs ?? base.timeMs };
    const isKnown =
      'revision' in end ? last.revision >= end.revision : last.timeMs > end.timeMs || last.revision === lastRevision;
    if (!isKnown) continue;
    if ('revision' in end) {
      const { revision } = end;
      return { base, segments: all.filter(({ after }) => after < revision && base.revision < revision) };
    }
    // A commit after the moment proves that no change before it is missing.
    const further = all.findIndex(({ firstMs }) => firstMs > end.timeMs);
    return { base, segments: further < 0 ? all : all.slice(0, further + 1) };
  }
  return undefined;
}

/** The oldest segments, whose removal brings the others within the limit. */
export function excessSegments(segments: readonly LogSegment[], maxBytes: number): readonly string[] {
  let bytes = segments.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const excess: string[] = [];
  for (const { name, sizeBytes } of segments) {
    if (bytes <= maxBytes) break;
    bytes -= sizeBytes;
    excess.push(name);
  }
  return excess;
}

/** The segments that continue a snapshot without a gap. */
function segmentsFrom(segments: readonly LogSegment[], { revision }: LogBase): LogSegment[] {
  const following: LogSegment[] = [];
  let end = revision;
  for (const segment of segments) {
    if (segment.to <= end) continue;
    if (segment.after > end) break;
    following.push(segment);
    end = segment.to;
  }
  return following;
}
