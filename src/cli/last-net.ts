/**
 * The last handler for errors: an error that no other part caught ends the process with its stack in the log, a crash
 * report and an exit code after which the supervisor restarts it. The process must not continue, since its state is
 * unknown.
 */
import { writeSync } from 'node:fs';
import { AbortCallbackError } from '../base/abort.ts';
import type { Log } from '../platform/log.ts';
import { EXIT_INTERNAL, supervision } from './supervision.ts';

/** Logs and counts an error that ended only its own unit of work. */
let contain = (error: AbortCallbackError): void => writeStderr(`keelson: ${textOf(error)}\n`);

type ReportCrash = (error: unknown, origin: string) => void;

let report: ReportCrash | undefined;

/** Sets how crashes are reported. */
export function reportCrashes(how: ReportCrash): void {
  report = how;
}

/** Sets where errors of abort callbacks are logged and counted. */
export function logContained(log: Log): void {
  contain = (error) => log.unexpected(error.message, error.cause);
}

/** Exit code of a shell's program that a closed pipe has ended (SIGPIPE). */
const EXIT_PIPE_CLOSED = 141;

/** A command ends quietly with the reader of its output (`| head`); a component goes on without. */
function endWithReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  if (supervision === undefined) process.exit(EXIT_PIPE_CLOSED);
}

/** Installs the handlers for the whole process. Unhandled rejections reach them too. */
export function installLastNet(): void {
  process.stdout.on('error', endWithReader);
  process.on('uncaughtException', (error: unknown, origin) => {
    // The platform throws here what a listener threw; other listeners were called, and the abort is complete.
    if (error instanceof AbortCallbackError) return contain(error);
    // First, as it is least likely to fail.
    writeStderr(`keelson: an unexpected error ends the process (${origin}): ${textOf(error)}\n`);
    try {
      report?.(error, origin);
    } catch (second) {
      writeStderr(`keelson: the crash report could not be written: ${textOf(second)}\n`);
    } finally {
      process.exit(EXIT_INTERNAL);
    }
  });
}

function textOf(error: unknown): string {
  if (error instanceof AbortCallbackError) return `${error.message}: ${textOf(error.cause)}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function writeStderr(text: string): void {
  try {
    writeSync(2, text);
  } catch {
    // The pipe's reader has disconnected.
  }
}
