/**
 * The real log: JSON lines (pino) for machines, one readable line per entry on a terminal. Lines are written
 * synchronously, so that none is lost when the process ends. The number of lines per message and the size of the file
 * are limited.
 */
import { writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { pino } from 'pino';
import type { Log, LogFields } from '../log.ts';
import { isProgramError } from '../unexpected.ts';
import { createLineLimits, type LineLimits } from './log-limits.ts';
import { createRotation, LOG_FILE_VARIABLE } from './log-rotation.ts';

/** The level and format of the log. */
export interface NodeLogOptions {
  /** Default info. */
  readonly level?: 'debug' | 'info' | 'warn' | 'error';
  /** Default: readable on a terminal, JSON otherwise. */
  readonly format?: 'json' | 'text';
  /** File descriptor. Default 2. */
  readonly fd?: number;
  /** Called for each `unexpected` with the logger's component. */
  readonly onUnexpected?: (component: string) => void;
  /** Called for each line of level error, including omitted ones. */
  readonly onError?: (component: string, message: string, error: unknown) => void;
}

const RANKS = { debug: 0, info: 1, warn: 2, error: 3 } as const;
type Level = keyof typeof RANKS;

/** Makes the log of this process. */
export function createNodeLog(options: NodeLogOptions = {}): Log {
  const fd = options.fd ?? 2;
  const level = options.level ?? 'info';
  const format = options.format ?? (isatty(fd) ? 'text' : 'json');
  const { onUnexpected = () => undefined, onError = () => undefined } = options;
  const limits = createLineLimits(() => performance.now());
  const logFile = process.env[LOG_FILE_VARIABLE];
  const rotation = fd !== 2 || logFile === undefined ? undefined : createRotation(fd, logFile);
  const write = (line: string): void => {
    writeAll(fd, line);
    rotation?.(line.length);
  };
  if (format === 'json') return jsonLog(level, { write, limits, onUnexpected, onError });
  return textLog({ level, write, limits, color: isatty(fd), component: '', fields: {}, onUnexpected, onError });
}

/**
 * An error with its causes, as plain data. Program errors (a `TypeError` and its like) have their stack; others,
 * which describe failures outside, only with `withStack`.
 */
export function describeError(error: unknown, { withStack = false, depth = 0 } = {}): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, cause } = error;
  const code: unknown = (error as { code?: unknown }).code;
  return {
    type: name,
    message,
    ...(code === undefined ? {} : { code }),
    ...(stack !== undefined && (withStack || isProgramError(error)) && { stack }),
    ...(cause === undefined || depth > 5 ? {} : { cause: describeError(cause, { withStack, depth: depth + 1 }) }),
  };
}

interface LogOutput {
  readonly write: (line: string) => void;
  readonly limits: LineLimits;
  readonly onUnexpected: (component: string) => void;
  readonly onError: (component: string, message: string, error: unknown) => void;
}

function jsonLog(level: Level, { write, limits, onUnexpected, onError }: LogOutput): Log {
  const destination = { write };
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
    const admitted = (name: Level, message: string, fields: LogFields | undefined): void => {
      if (name === 'error') onError(path, message, fields?.['err']);
      const suppressed = name === 'debug' ? 0 : limits.admit(path, message);
      if (suppressed === undefined) return;
      if (suppressed > 0) logger[name]({ ...fields, suppressed }, message);
      else if (fields === undefined) logger[name](message);
      else logger[name](fields, message);
    };
    const at =
      (name: Level) =>
      (message: string, fields?: LogFields): void =>
        logger.isLevelEnabled(name) ? admitted(name, message, fields) : undefined;
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      unexpected(message, err, fields) {
        onUnexpected(path);
        admitted('error', message, { ...fields, err: describeError(err, { withStack: true }) });
      },
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

interface TextLogState extends LogOutput {
  readonly level: Level;
  readonly color: boolean;
  readonly component: string;
  readonly fields: LogFields;
}

function textLog(state: TextLogState): Log {
  const at =
    (name: Level) =>
    (message: string, fields?: LogFields): void => {
      if (RANKS[name] < RANKS[state.level]) return;
      const suppressed = name === 'debug' ? 0 : state.limits.admit(state.component, message);
      if (suppressed === undefined) return;
      const all = { ...state.fields, ...fields, ...(suppressed > 0 && { suppressed }) };
      state.write(formatText(state, name, { message, fields: all }));
    };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error(message, fields) {
      state.onError(state.component, message, fields?.['err']);
      at('error')(message, fields);
    },
    unexpected(message, error, fields) {
      state.onUnexpected(state.component);
      state.onError(state.component, message, error);
      const stack = error instanceof Error ? `\n${error.stack}` : '';
      at('error')(`${message}${stack}`, { ...fields, ...(stack === '' && { err: error }) });
    },
    child: (component, fields) =>
      textLog({
        ...state,
        component: state.component === '' ? component : `${state.component}.${component}`,
        fields: { ...state.fields, ...fields },
      }),
  };
}

const COLORS: Readonly<Record<Level, string>> = { debug: '90', info: '36', warn: '33', error: '31' };

function formatText(state: TextLogState, level: Level, line: { message: string; fields: LogFields }): string {
  const paint = (code: string, text: string): string => (state.color ? `\u001B[${code}m${text}\u001B[0m` : text);
  const time = new Date().toISOString().slice(11, 23);
  const { err, ...rest } = line.fields;
  const head = `${paint('90', time)} ${paint(COLORS[level], level.toUpperCase().padEnd(5))} `;
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

/** Writes all bytes even when the descriptor is a non-blocking pipe that is full. */
function writeAll(fd: number, line: string): void {
  const data = Buffer.from(line);
  let at = 0;
  for (let tries = 0; at < data.length && tries < 1000; tries++) {
    try {
      at += writeSync(fd, data, at);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EPIPE' || code === 'EIO') return; // the reader of the log is gone
      if (code === 'ENOSPC' || code === 'EDQUOT') return; // a full disk must not end what could free it
      if (code !== 'EAGAIN') throw error;
      Atomics.wait(pause, 0, 0, 1);
    }
  }
}

const pause = new Int32Array(new SharedArrayBuffer(4));
