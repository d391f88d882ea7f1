/** A log in memory, which tests read. */
import { TextInterner } from '../../base/text-interner.ts';
import type { Log, LogFields } from '../log.ts';

/** One line. */
export interface LogEntry {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly component: string;
  readonly message: string;
  readonly fields: LogFields;
}

/** A log whose lines can be read. */
export interface MemoryLog extends Log {
  /** Lines of this logger and all made from it, oldest first. */
  readonly entries: readonly LogEntry[];
}

/** How much a memory log keeps. */
export interface MemoryLogOptions {
  /** The oldest half is dropped when there are more. Default 10,000. */
  readonly maxEntries?: number;
  /** Lines below are not kept. Default debug: all are. */
  readonly minLevel?: LogEntry['level'];
  /** Where lines go instead: none is kept. Default: all stay here. */
  readonly forwardTo?: Log;
  /** Shared with other logs of the same components. Default: its own. */
  readonly texts?: TextInterner;
  /** Called for each `unexpected` with the logger's component. */
  readonly onUnexpected?: (component: string) => void;
}

/** Where the loggers of one log write to. */
interface Sink {
  readonly texts: TextInterner;
  readonly onUnexpected: ((component: string) => void) | undefined;
  add(entry: LogEntry): void;
}

const LEVELS: readonly LogEntry['level'][] = ['debug', 'info', 'warn', 'error'];

export function createMemoryLog(options: MemoryLogOptions = {}): MemoryLog {
  const { maxEntries = 10_000, minLevel = 'debug', texts = new TextInterner(), forwardTo, onUnexpected } = options;
  const lines: LogEntry[] = [];
  const keeps = new Set(LEVELS.slice(LEVELS.indexOf(minLevel)));
  const forward = forwardTo && forwarder(forwardTo);
  const add = (entry: LogEntry): void => {
    if (!keeps.has(entry.level)) return;
    if (forward !== undefined) return forward(entry);
    if (lines.length >= maxEntries) lines.splice(0, Math.ceil(maxEntries / 2));
    lines.push(entry);
  };
  return Object.assign(new MemoryLogger({ texts, add, onUnexpected }, '', {}), { entries: lines });
}

/** Each component's lines go through one logger of the other log. */
function forwarder(log: Log): (entry: LogEntry) => void {
  const loggers = new Map<string, Log>();
  return ({ level, component, message, fields }) => {
    let logger = component === '' ? log : loggers.get(component);
    if (logger === undefined) loggers.set(component, (logger = log.child(component)));
    logger[level](message, fields);
  };
}

/** One component's view of a log. A class: a kubelet makes dozens, a simulation thousands of kubelets. */
class MemoryLogger implements Log {
  readonly #sink: Sink;
  readonly #component: string;
  readonly #base: LogFields;

  constructor(sink: Sink, component: string, base: LogFields) {
    this.#sink = sink;
    this.#component = component;
    this.#base = base;
  }

  debug(message: string, fields?: LogFields): void {
    this.#write('debug', message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#write('info', message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#write('warn', message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#write('error', message, fields);
  }

  unexpected(message: string, err: unknown, fields?: LogFields): void {
    this.#sink.onUnexpected?.(this.#component);
    this.#write('error', message, { ...fields, err });
  }

  child(name: string, fields?: LogFields): Log {
    const component = this.#component === '' ? name : this.#sink.texts.intern(`${this.#component}.${name}`, true);
    return new MemoryLogger(this.#sink, component, fields === undefined ? this.#base : { ...this.#base, ...fields });
  }

  #write(level: LogEntry['level'], message: string, fields: LogFields | undefined): void {
    this.#sink.add({ level, component: this.#component, message, fields: { ...this.#base, ...fields } });
  }
}
