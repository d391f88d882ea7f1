/**
 * The events of a run line by line: virtual time, author, change, reason. It implements the cluster's object history, so it
 * receives every change with its author; the run's steps and notes are between them. Recording changes nothing in a run.
 */
import { RevisionCell } from '../../apiserver/watch-cache/revision-cell.ts';
import type {
  HistoryBatch,
  HistoryFound,
  HistoryLane,
  HistoryLog,
  HistoryMoment,
  HistoryPage,
  HistoryStatus,
  LaneStatus,
} from '../../storage/history-log.ts';
import type { HistoryRecord } from '../../storage/history-record.ts';
import { HistoryRecords } from '../../storage/history-records.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { Event } from '../../api/gen/core-v1.ts';
import { formatSpan } from '../duration.ts';
import { markText, type RunMark } from '../run-marks.ts';
import { authorText } from './author-text.ts';
import { changeText, eventText } from './change-text.ts';

interface Line {
  readonly atMs: number;
  readonly who: string;
  readonly text: string;
}

/** The limit of lines; longer runs keep the last ones. */
const MAX_LINES = 5000;
const EVENTS = '/registry/events/';
const LEASES = '/registry/leases/';

/** Collects the lines of a run. */
export class Timeline implements HistoryLog {
  readonly #records: HistoryRecord[] = [];
  readonly #marks: RunMark[] = [];
  #covered = 0;

  /** Adds a step of the run, or a note. The first mark starts the timeline. */
  mark(mark: RunMark): void {
    this.#marks.push(mark);
  }

  /** The lines in order, with `+` and the time since the first mark. */
  text(): string[] {
    const lines = this.#lines();
    const shown = lines.slice(-MAX_LINES);
    const width = shown.reduce((most, { who }) => Math.max(most, who.length), 0);
    const startMs = this.#marks[0]?.monotonicMs ?? 0;
    return [
      ...(lines.length > shown.length ? [`${lines.length - shown.length} earlier lines are left out`] : []),
      ...shown.map(
        ({ atMs, who, text }) => `${`+${formatSpan(atMs - startMs)}`.padStart(12)}  ${who.padEnd(width)}  ${text}`,
      ),
    ];
  }

  #lines(): Line[] {
    const lines: Line[] = [];
    const states = new Map<string, RevisionCell>();
    const records = this.#records.toSorted((a, b) => a.revision - b.revision);
    let next = 0;
    let latest: RunMark | undefined;
    const takeUntil = (revision: number): void => {
      for (; next < records.length && records[next]!.revision <= revision; next++) {
        const line = lineOf(records[next]!, states);
        // objects from before the run, and the start of the cluster
        if (line !== undefined && latest !== undefined)
          lines.push({ ...line, atMs: records[next]!.timeMs - latest.nowMs + latest.monotonicMs });
      }
    };
    for (const mark of this.#marks) {
      takeUntil(mark.revision);
      lines.push({ atMs: mark.monotonicMs, who: `step ${mark.step + 1}`, text: markText(mark) });
      latest = mark;
    }
    takeUntil(Infinity);
    return lines;
  }

  async open(): Promise<HistoryStatus> {
    return this.#status();
  }

  newRecords(): HistoryRecords {
    return new HistoryRecords();
  }

  async append({ records, covered }: HistoryBatch): Promise<HistoryStatus> {
    for (const lane of [records.objects, records.events]) for (const record of lane ?? []) this.#records.push(record);
    this.#covered = covered;
    return this.#status();
  }

  /** Runs keep no history by object, so this page is always empty. */
  async read(): Promise<HistoryPage> {
    return { records: [], more: false, gaps: [], status: this.#lane() };
  }

  /** Runs keep no lists of the past, so all of it may be missing. */
  async locate({ lane }: { readonly lane: HistoryLane }): Promise<HistoryMoment> {
    const gaps = [{ lane, after: 0, until: Infinity, changes: 0 }];
    return { revision: this.#covered, gaps, status: this.#lane() };
  }

  async changedKeys(): Promise<HistoryFound> {
    return { records: [], bytes: 0 };
  }

  async states(): Promise<HistoryFound> {
    return { records: [], bytes: 0 };
  }

  async prune(): Promise<HistoryStatus> {
    return this.#status();
  }

  async close(): Promise<void> {
    await Promise.resolve();
  }

  #status(): HistoryStatus {
    return { covered: this.#covered, lanes: { objects: this.#lane(), events: this.#lane() } };
  }

  #lane(): LaneStatus {
    return { since: this.#covered, sinceMs: 0, baseline: 0, sizeBytes: 0, records: 0 };
  }
}

/** The record's line; undefined when it is not worth one. Stores the state. */
function lineOf(record: HistoryRecord, states: Map<string, RevisionCell>): Omit<Line, 'atMs'> | undefined {
  const { key, revision, change, author, value } = record;
  const before = states.get(key);
  const after = change === 'deleted' ? undefined : new RevisionCell(key, revision, value);
  if (after === undefined) states.delete(key);
  else states.set(key, after);
  if (change === 'known' || key.startsWith(LEASES)) return undefined;
  if (key.startsWith(EVENTS)) return after === undefined ? undefined : eventText(after.object() as Event);
  const objects: { before: KubernetesObject | undefined; after: KubernetesObject | undefined } = {
    before: before?.object(),
    after: after?.object(),
  };
  const text = changeText(key, objects);
  return text === undefined ? undefined : { who: authorText(author), text };
}
