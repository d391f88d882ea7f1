/**
 * What happened in a run, line by line: virtual time, who, what, why. It is the keeper of the cluster's object history, so it sees
 * every change with its author, and the run's steps and notes stand between them. Following a run changes nothing in it.
 */
import { RevisionCell } from '../../apiserver/watch-cache/revision-cell.ts';
import type {
  HistoryBatch,
  HistoryFound,
  HistoryLane,
  HistoryLog,
  HistoryMoment,
  HistoryPage,
  HistoryRecord,
  HistoryStatus,
  LaneStatus,
} from '../../storage/history-log.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { Event } from '../../api/gen/core-v1.ts';
import { formatSpan } from '../duration.ts';
import { authorText } from './author-text.ts';
import { changeText, eventText } from './change-text.ts';

/** Where the run is: the store's revision and both clocks. */
export interface RunMoment {
  readonly revision: number;
  readonly nowMs: number;
  readonly monotonicMs: number;
}

interface Mark extends RunMoment {
  readonly who: string;
  readonly text: string;
}

interface Line {
  readonly atMs: number;
  readonly who: string;
  readonly text: string;
}

/** The last lines of longer runs are shown. */
const MAX_LINES = 5000;
const EVENTS = '/registry/events/';
const LEASES = '/registry/leases/';

/** Collects a run. */
export class Timeline implements HistoryLog {
  readonly #records: HistoryRecord[] = [];
  readonly #marks: Mark[] = [];
  #covered = 0;

  /** Notes a step of the run, or something about it. The first one begins the timeline. */
  mark(moment: RunMoment, who: string, text: string): void {
    this.#marks.push({ ...moment, who, text });
  }

  /** Lines of text, in their order; `+` and the time since the first mark. */
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
    let latest: Mark | undefined;
    const takeUntil = (revision: number): void => {
      for (; next < records.length && records[next]!.revision <= revision; next++) {
        const line = lineOf(records[next]!, states);
        // What was there before the run, and the start of the cluster.
        if (line !== undefined && latest !== undefined)
          lines.push({ ...line, atMs: records[next]!.timeMs - latest.nowMs + latest.monotonicMs });
      }
    };
    for (const mark of this.#marks) {
      takeUntil(mark.revision);
      lines.push({ atMs: mark.monotonicMs, who: mark.who, text: mark.text });
      latest = mark;
    }
    takeUntil(Infinity);
    return lines;
  }

  async open(): Promise<HistoryStatus> {
    return this.#status();
  }

  async append({ records, covered }: HistoryBatch): Promise<HistoryStatus> {
    for (const lane of [records.objects, records.events]) for (const record of lane) this.#records.push(record);
    this.#covered = covered;
    return this.#status();
  }

  /** Runs keep no history by object: this page is always empty. */
  async read(): Promise<HistoryPage> {
    return { records: [], more: false, gaps: [], status: this.#lane() };
  }

  /** Nor for a list of the past: all of it may be missing. */
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

/** The record's line; undefined for what says nothing. Takes over the state. */
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
