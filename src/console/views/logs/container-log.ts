/** The log of one container, followed across restarts and broken connections, each line once. */
import { ApiError } from '../../api/http.ts';
import type { ObjectRef } from '../../api/kinds.ts';
import type { CutLine } from '../../api/log-lines.ts';
import { isBrief, pauseAfter } from '../../api/patience.ts';
import { pause } from '../../api/pause.ts';
import { followLog } from '../../api/streams.ts';
import { texts } from '../../app/texts.ts';
import { type Pen, PLAIN_PEN, type StyledText, styledText } from './ansi.ts';
import type { LogLine } from './log-buffer.ts';
import { isPlainWidth } from './wrapping.ts';

/** The state of a log without its lines. */
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
  /** The log of the instance before the last restart, which is not followed. */
  readonly previous: boolean;
  /** The limit of older lines. */
  readonly tailLines: number;
  /** The index of the log, which its lines carry. */
  readonly source: number;
}

/** The container's state when its log is requested. */
export interface ContainerInstance {
  /** The container's ID; '' before it is created. */
  readonly id: string;
  readonly running: boolean;
  /** The reason why it does not run yet. */
  readonly waiting: string;
}

const RETRY_MS = 2000;

export class ContainerLog {
  readonly #order: LogOrder;
  readonly #sink: LogSink;
  readonly #signal: AbortSignal;
  #instance: ContainerInstance = { id: '', running: false, waiting: '' };
  /** The instance whose log was read to its end. */
  #finished = '';
  #following = false;
  /** The number of failed attempts since the last line. */
  #failures = 0;
  #pen: Pen = PLAIN_PEN;
  /** The time of the newest line as text and in milliseconds, and the number of last lines with that time. */
  #newest = { text: '', ms: 0, count: 0 };

  constructor(order: LogOrder, sink: LogSink, signal: AbortSignal) {
    this.#order = order;
    this.#sink = sink;
    this.#signal = signal;
  }

  /** Called with the container's state; follows the log of an instance that was not read to its end. */
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
      if (over) continue;
      if (outcome === 'failed') await pauseAfter(this.#failures++, this.#signal);
      else await pause(RETRY_MS, this.#signal);
    }
    this.#following = false;
  }

  #isRunning(id: string): boolean {
    return this.#instance.id === id && this.#instance.running;
  }

  /** Reads the log once, to the end of the response. */
  async #read(): Promise<'ended' | 'failed' | 'refused'> {
    const { pod, previous } = this.#order;
    if (this.#failures === 0) this.#sink.state({ kind: 'opening' });
    try {
      const resumed = { from: this.#newest, seen: 0, over: this.#newest.text === '' };
      for await (const lines of followLog(pod, this.#params(), this.#signal)) {
        if (!previous) this.#sink.state({ kind: 'following' });
        this.#failures = 0;
        this.#sink.lines(lines.flatMap((line) => this.#take(line, resumed)));
      }
      return 'ended';
    } catch (error) {
      if (this.#signal.aborted) return 'failed';
      if (!(error instanceof ApiError)) throw error;
      if (!isBrief(error, this.#failures)) this.#sink.state({ kind: 'refused', message: error.message });
      return [400, 401, 403, 404].includes(error.code) ? 'refused' : 'failed';
    }
  }

  #params(): Readonly<Record<string, string>> {
    const { container, previous, tailLines } = this.#order;
    const { text } = this.#newest;
    const from: Record<string, string> = text === '' ? { tailLines: String(tailLines) } : { sinceTime: text };
    return { container, timestamps: 'true', ...from, ...(previous ? { previous: 'true' } : { follow: 'true' }) };
  }

  /** Adds a line unless it was received before: lines are requested from the time of the newest one on. */
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

/** The start of a response that continues a broken one. */
interface Resumed {
  readonly from: { readonly ms: number; readonly count: number };
  /** The number of repeated lines with the newest line's time. */
  seen: number;
  /** Set once a new line was received. */
  over: boolean;
}

function isKnown(timeMs: number, resumed: Resumed): boolean {
  const { ms, count } = resumed.from;
  return timeMs < ms || (timeMs === ms && resumed.seen++ < count);
}

/** Milliseconds with a fraction, so that lines of several logs are ordered within one millisecond. */
function timeOf(time: string): number {
  const fraction = /\.(\d{3})(\d+)/.exec(time)?.[2];
  const timeMs = Date.parse(time);
  return Number.isNaN(timeMs) ? 0 : timeMs + (fraction === undefined ? 0 : Number(`0.${fraction}`));
}
