/** The log port: structured, levelled, one logger per component. Fields use upstream's names (`pod`, `podUID`, `node` …). */

/** Values worth logging beside the message. An `Error` under `err` is printed with its causes. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Writes log lines. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A logger that adds `component` (dotted below its parent) and the fields to each line. */
  child(component: string, fields?: LogFields): Log;
}
