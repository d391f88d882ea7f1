/**
 * The `keelson` command line. Each command has its own file, loaded when it is used. Exit codes: 0 done, 1 failed, 2 wrong usage;
 * every failure is one line on stderr. 70: an internal error; 75: a running component failed, and the supervisor starts the
 * process again.
 */
import { CommanderError } from 'commander';
import { errorMessage } from '../base/errors.ts';
import { PreflightError } from '../cluster/preflight-error.ts';
import { installLastNet } from './last-net.ts';
import { oneLine, program } from './program.ts';
import { failureCode } from './supervision.ts';
import { UserError } from './usage-error.ts';

/** Runs one command line; resolves to the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  // The clock's timers keep no process alive; a command in progress does.
  const alive = setInterval(() => undefined, 0x7fff_ffff);
  try {
    await (await program(args)).parseAsync(args, { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const isForUser = error instanceof UserError || error instanceof PreflightError;
    process.stderr.write(oneLine(isForUser ? error.message : errorMessage(error)));
    if (!isForUser && process.env['KEELSON_DEBUG'] !== undefined) console.error(error);
    return failureCode(error instanceof UserError ? error.exitCode : 1);
  } finally {
    clearInterval(alive);
  }
}

installLastNet();
/** Settled when the exit code is set: the bundle's scripts cannot wait for it themselves. */
export const ended = main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  },
);
