/** The log port: structured, levelled, one logger per component. Fields use upstream's names (`pod`, `podUID`, `node` …). */

/** Values logged besides the message. An `Error` under `err` is printed with its causes, without stacks. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Writes log lines. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /**
   * Logs an unexpected error, caught at a boundary so that it ends only one unit of work. Logged with its stack and
   * counted in `keelson_unexpected_errors_total` under this logger's component. Upstream: runtime.HandleCrash.
   */
  unexpected(message: string, error: unknown, fields?: LogFields): void;
  /** A logger that adds `component` (dotted below its parent) and the fields to each line. */
  child(component: string, fields?: LogFields): Log;
}
