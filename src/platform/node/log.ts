/**
 * The real log: JSON lines (pino) for machines, one readable line per entry on a terminal. Lines are written at once:
 * nothing is lost when the process ends.
 */
import { writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { pino } from 'pino';
import type { Log, LogFields } from '../log.ts';

/** How much to log, and how. */
export interface NodeLogOptions {
  /** Default info. */
  readonly level?: 'debug' | 'info' | 'warn' | 'error';
  /** Default: readable on a terminal, JSON otherwise. */
  readonly format?: 'json' | 'text';
  /** File descriptor. Default 2. */
  readonly fd?: number;
}

const ranks = { debug: 0, info: 1, warn: 2, error: 3 } as const;
type Level = keyof typeof ranks;

/** Makes the log of this process. */
export function createNodeLog(options: NodeLogOptions = {}): Log {
  const fd = options.fd ?? 2;
  const level = options.level ?? 'info';
  const format = options.format ?? (isatty(fd) ? 'text' : 'json');
  return format === 'json' ? jsonLog(level, fd) : textLog({ level, fd, color: isatty(fd), component: '', fields: {} });
}

/** An error with its causes, as plain data. */
export function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, cause } = error;
  const code: unknown = (error as { code?: unknown }).code;
  return {
    type: name,
    message,
    ...(code === undefined ? {} : { code }),
    ...(stack === undefined ? {} : { stack }),
    ...(cause === undefined || depth > 5 ? {} : { cause: describeError(cause, depth + 1) }),
  };
}

function jsonLog(level: Level, fd: number): Log {
  const destination = { write: (line: string): void => writeAll(fd, line) };
  const root = pino(
    {
      level,
      base: undefined as never,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (error: unknown) => describeError(error) },
    },
    destination,
  );
  const wrap = (logger: pino.Logger, path: string): Log => {
    const at =
      (name: Level) =>
      (message: string, fields?: LogFields): void =>
        fields === undefined ? logger[name](message) : logger[name](fields, message);
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      // pino prints the bindings of all generations: the component is bound once, at each leaf from the root.
      child: (component, fields = {}) => {
        const full = path === '' ? component : `${path}.${component}`;
        const { component: _old, ...inherited } = logger.bindings();
        return wrap(root.child({ component: full, ...inherited, ...fields }), full);
      },
    };
  };
  return wrap(root, '');
}

interface TextLogState {
  readonly level: Level;
  readonly fd: number;
  readonly color: boolean;
  readonly component: string;
  readonly fields: LogFields;
}

function textLog(state: TextLogState): Log {
  const at =
    (name: Level) =>
    (message: string, fields?: LogFields): void => {
      if (ranks[name] < ranks[state.level]) return;
      writeAll(state.fd, formatText(state, name, { message, fields: { ...state.fields, ...fields } }));
    };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (component, fields) =>
      textLog({
        ...state,
        component: state.component === '' ? component : `${state.component}.${component}`,
        fields: { ...state.fields, ...fields },
      }),
  };
}

const colors: Readonly<Record<Level, string>> = { debug: '90', info: '36', warn: '33', error: '31' };

function formatText(state: TextLogState, level: Level, line: { message: string; fields: LogFields }): string {
  const paint = (code: string, text: string): string => (state.color ? `\u001B[${code}m${text}\u001B[0m` : text);
  const time = new Date().toISOString().slice(11, 23);
  const { err, ...rest } = line.fields;
  const head = `${paint('90', time)} ${paint(colors[level], level.toUpperCase().padEnd(5))} `;
  const component = state.component === '' ? '' : `${paint('1', state.component)}: `;
  const fields = Object.entries(rest).map(([name, value]) => paint('90', ` ${name}=${fieldText(value)}`));
  return `${head}${component}${line.message}${fields.join('')}${errorText(err)}\n`;
}

function fieldText(value: unknown): string {
  if (typeof value === 'string') return /^[\w.:/@+-]+$/.test(value) ? value : JSON.stringify(value);
  return JSON.stringify(value) ?? String(value);
}

function errorText(error: unknown): string {
  if (error === undefined) return '';
  if (!(error instanceof Error)) return ` err=${fieldText(error)}`;
  const cause = error.cause === undefined ? '' : `\n  caused by${errorText(error.cause)}`;
  return ` ${error.name}: ${error.message}${cause}`;
}

/** Writes to the end also where the descriptor is a pipe that does not block and is full just now. */
function writeAll(fd: number, line: string): void {
  const data = Buffer.from(line);
  let at = 0;
  for (let tries = 0; at < data.length && tries < 1000; tries++) {
    try {
      at += writeSync(fd, data, at);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EPIPE' || code === 'EIO') return; // nobody reads the log any more
      if (code !== 'EAGAIN') throw error;
      Atomics.wait(pause, 0, 0, 1);
    }
  }
}

const pause = new Int32Array(new SharedArrayBuffer(4));
