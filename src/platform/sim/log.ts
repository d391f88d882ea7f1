/** A log kept in memory, for tests to look at. */
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

/** Makes a memory log; `maxEntries` bounds it by dropping the oldest half. */
export function createMemoryLog(maxEntries: number = 10_000): MemoryLog {
  const entries: LogEntry[] = [];
  const add = (entry: LogEntry): void => {
    if (entries.length >= maxEntries) entries.splice(0, Math.ceil(maxEntries / 2));
    entries.push(entry);
  };
  return { ...createLogger(add, '', {}), entries };
}

function createLogger(add: (entry: LogEntry) => void, component: string, base: LogFields): Log {
  const at =
    (level: LogEntry['level']) =>
    (message: string, fields?: LogFields): void =>
      add({ level, component, message, fields: { ...base, ...fields } });
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (name, fields) =>
      createLogger(add, component === '' ? name : `${component}.${name}`, { ...base, ...fields }),
  };
}
