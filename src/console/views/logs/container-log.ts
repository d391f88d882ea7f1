/** The log of one container, followed over its restarts: each line once, also after a connection that broke. */
import { ApiError } from '../../api/http.ts';
import type { ObjectRef } from '../../api/kinds.ts';
import type { CutLine } from '../../api/log-lines.ts';
import { pause } from '../../api/pause.ts';
import { followLog } from '../../api/streams.ts';
import { texts } from '../../app/texts.ts';
import { type Pen, PLAIN_PEN, type StyledText, styledText } from './ansi.ts';
import type { LogLine } from './log-buffer.ts';
import { isPlainWidth } from './wrapping.ts';

/** What can be said of a log beside its lines. */
export type LogState =
  | { readonly kind: 'opening' | 'following' | 'ended' }
  | { readonly kind: 'waiting' | 'refused'; readonly message: string };

export interface LogSink {
  lines(lines: readonly LogLine[]): void;
  state(state: LogState): void;
}

export interface LogOrder {
  readonly pod: ObjectRef;
  readonly container: string;
  /** True: the log of the instance before the last restart, which is not followed. */
  readonly previous: boolean;
  /** At most so many lines of what was written before. */
  readonly tailLines: number;
  /** The index that its lines carry. */
  readonly source: number;
}

/** What is known of the container when its log is asked for. */
export interface ContainerInstance {
  /** '' as long as it has not been created. */
  readonly id: string;
  readonly running: boolean;
  /** Why it does not run yet. */
  readonly waiting: string;
}

const RETRY_MS = 2000;

export class ContainerLog {
  readonly #order: LogOrder;
  readonly #sink: LogSink;
  readonly #signal: AbortSignal;
  #instance: ContainerInstance = { id: '', running: false, waiting: '' };
  /** The instance whose log was followed to its end. */
  #finished = '';
  #following = false;
  #pen: Pen = PLAIN_PEN;
  /** The time of the newest line as the server wrote it and in milliseconds, and how many of the last lines have it. */
  #newest = { text: '', ms: 0, count: 0 };

  constructor(order: LogOrder, sink: LogSink, signal: AbortSignal) {
    this.#order = order;
    this.#sink = sink;
    this.#signal = signal;
  }

  /** Hears of the container's state; follows the log when there is one that was not read to its end. */
  update(instance: ContainerInstance): void {
    this.#instance = instance;
    if (this.#following || this.#signal.aborted) return;
    if (instance.id === '') this.#sink.state({ kind: 'waiting', message: instance.waiting });
    else if (instance.id !== this.#finished) void this.#follow();
  }

  async #follow(): Promise<void> {
    this.#following = true;
    while (!this.#signal.aborted && this.#instance.id !== '' && this.#instance.id !== this.#finished) {
      const { id } = this.#instance;
      const outcome = await this.#read();
      if (this.#signal.aborted) return;
      const over = outcome === 'refused' || this.#order.previous || (outcome === 'ended' && !this.#isRunning(id));
      if (over) this.#finished = id;
      if (over && outcome === 'ended') this.#sink.state({ kind: 'ended' });
      if (!over) await pause(RETRY_MS, this.#signal);
    }
    this.#following = false;
  }

  #isRunning(id: string): boolean {
    return this.#instance.id === id && this.#instance.running;
  }

  /** Once, to the end of the answer. */
  async #read(): Promise<'ended' | 'failed' | 'refused'> {
    const { pod, previous } = this.#order;
    this.#sink.state({ kind: 'opening' });
    try {
      const resumed = { from: this.#newest, seen: 0, over: this.#newest.text === '' };
      for await (const lines of followLog(pod, this.#params(), this.#signal)) {
        if (!previous) this.#sink.state({ kind: 'following' });
        this.#sink.lines(lines.flatMap((line) => this.#take(line, resumed)));
      }
      return 'ended';
    } catch (error) {
      if (this.#signal.aborted) return 'failed';
      if (!(error instanceof ApiError)) throw error;
      this.#sink.state({ kind: 'refused', message: error.message });
      return [400, 401, 403, 404].includes(error.code) ? 'refused' : 'failed';
    }
  }

  #params(): Readonly<Record<string, string>> {
    const { container, previous, tailLines } = this.#order;
    const { text } = this.#newest;
    const from: Record<string, string> = text === '' ? { tailLines: String(tailLines) } : { sinceTime: text };
    return { container, timestamps: 'true', ...from, ...(previous ? { previous: 'true' } : { follow: 'true' }) };
  }

  /** A line, unless it came before: the server is asked for lines from the time of the newest one on. */
  #take({ text, dropped }: CutLine, resumed: Resumed): readonly LogLine[] {
    const space = text.indexOf(' ');
    const time = space < 0 ? text : text.slice(0, space);
    const timeMs = timeOf(time);
    if (!resumed.over && isKnown(timeMs, resumed)) return [];
    resumed.over = true;
    const count = timeMs === this.#newest.ms ? this.#newest.count + 1 : 1;
    this.#newest = { text: time, ms: timeMs, count };
    const raw = (space < 0 ? '' : text.slice(space + 1)).replace(/\r$/, '');
    const styled = styledText(raw, this.#pen);
    this.#pen = styled.pen;
    return [lineOf(styled, { source: this.#order.source, timeMs, dropped })];
  }
}

interface LineOrigin {
  readonly source: number;
  readonly timeMs: number;
  readonly dropped: number;
}

function lineOf({ text, spans }: StyledText, { source, timeMs, dropped }: LineOrigin): LogLine {
  if (dropped === 0) return { source, timeMs, text, spans, plain: isPlainWidth(text) };
  const note = texts.logs.cut(dropped);
  const noted = { start: text.length, end: text.length + note.length, classes: 'logs-note' };
  return { source, timeMs, text: text + note, spans: [...spans, noted], plain: false };
}

/** The begin of an answer that goes on where another broke off. */
interface Resumed {
  readonly from: { readonly ms: number; readonly count: number };
  /** Lines of the time of the newest one that came again. */
  seen: number;
  /** A line came that is new. */
  over: boolean;
}

function isKnown(timeMs: number, resumed: Resumed): boolean {
  const { ms, count } = resumed.from;
  return timeMs < ms || (timeMs === ms && resumed.seen++ < count);
}

/** Milliseconds with their fraction: lines of one millisecond keep their order between logs. */
function timeOf(time: string): number {
  const fraction = /\.(\d{3})(\d+)/.exec(time)?.[2];
  const timeMs = Date.parse(time);
  return Number.isNaN(timeMs) ? 0 : timeMs + (fraction === undefined ? 0 : Number(`0.${fraction}`));
}
