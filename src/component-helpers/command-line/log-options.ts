/**
 * Flags for the level and format of the log, which all of upstream's components have. Differs: JSON by default,
 * except on a terminal.
 */
import { FlagError, type OptionSet } from './flags.ts';

/** The level and format of a component's log. */
export interface LogOptions {
  readonly level: 'debug' | 'info';
  /** Absent: text on a terminal, otherwise JSON. */
  readonly format?: 'json' | 'text';
}

const DEBUG_VERBOSITY = 4;

/** `--v` and `--logging-format`. */
export const logOptions: OptionSet<LogOptions> = {
  flags: [
    { name: 'v', type: 'string', description: 'verbosity: 4 and above shows what is for debugging (default 0)' },
    { name: 'logging-format', type: 'string', description: 'json or text (default: text on a terminal, else json)' },
  ],
  read(values) {
    const verbosity = values.text('v') ?? '0';
    if (!/^-?\d+$/.test(verbosity))
      throw new FlagError(`invalid argument ${JSON.stringify(verbosity)} for "-v, --v" flag: it is no number`);
    const format = values.text('logging-format');
    if (format !== undefined && format !== 'json' && format !== 'text')
      throw new FlagError(
        `--logging-format: Unsupported log format ${JSON.stringify(format)}; there are json and text`,
      );
    return { level: Number(verbosity) >= DEBUG_VERBOSITY ? 'debug' : 'info', format };
  },
};
