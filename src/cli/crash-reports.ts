/**
 * Reports of abnormal ends in the data directory: `crashes/<time>-<pid>.json`, readable by its owner alone, the
 * newest ten. A process that can still run code writes its own; of any other the next one writes what it can find out.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { errorMessage } from '../base/errors.ts';
import { VERSION } from '../base/version.ts';
import { describeError } from '../platform/node/log.ts';
import type { LastEnd } from './supervision.ts';

/** Report of one abnormal end. */
export interface CrashReport {
  readonly time: string;
  readonly version: string;
  readonly pid: number;
  /** How it ended: `signal SIGKILL`. */
  readonly end: string;
  readonly exitCode?: number;
  readonly lastedSeconds: number;
  readonly error?: unknown;
  /** Requests that were being served: verb and path, without bodies and queries. */
  readonly underWay?: readonly string[];
  readonly memory?: object;
}

const KEPT = 10;
const LONGEST_REPORT = 64 * 1024;
/** File that V8 writes on a fatal error. It contains the command line, so it is deleted after use. */
const FATAL_ERROR = 'fatal-error.json';

const folderOf = (dataDir: string): string => join(dataDir, 'crashes');

/** Makes the folder and lets Node.js write its report of fatal V8 errors, such as a lack of memory, there. */
export function prepareCrashReports(dataDir: string): void {
  const directory = folderOf(dataDir);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { report } = process;
  Object.assign(report, { directory, filename: FATAL_ERROR, reportOnFatalError: true, compact: true });
  Object.assign(report, { excludeNetwork: true, excludeEnv: true });
}

/** Report of this process when an error ends it. */
export function reportOfError(error: unknown, underWay: readonly string[]): CrashReport {
  return {
    time: new Date().toISOString(),
    version: VERSION,
    pid: process.pid,
    end: 'unexpected error',
    lastedSeconds: Math.round(process.uptime()),
    error: describeError(error, { withStack: true }),
    underWay,
    memory: { ...process.memoryUsage(), limit: process.constrainedMemory() },
  };
}

/** Writes a report. Returns its path. */
export function writeCrashReport(dataDir: string, report: CrashReport): string {
  const folder = folderOf(dataDir);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `${report.time.replaceAll(/[:.]/g, '-')}-${report.pid}.json`);
  const text = JSON.stringify(report, undefined, 2);
  const short = text.length > LONGEST_REPORT ? JSON.stringify({ ...report, error: text.slice(0, 16_384) }) : text;
  try {
    writeFileSync(path, `${short.slice(0, LONGEST_REPORT)}\n`, { mode: 0o600 });
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
  for (const old of reports(dataDir).slice(0, -KEPT)) rmSync(join(folder, old), { force: true });
  return path;
}

/**
 * Report of the previous run, written now if that run could not write one, and a description of its end. When it cannot be written, `path` has the reason and the start continues.
 */
export function reportOfLastEnd(dataDir: string, end: LastEnd): { readonly path: string; readonly end: string } {
  const fatal = takeFatalError(dataDir, end.pid);
  const own = reports(dataDir).findLast((name) => name.endsWith(`-${end.pid}.json`));
  if (own !== undefined) return { path: join(folderOf(dataDir), own), end: 'unexpected error' };
  const described = fatal?.event ?? describeExit(end.exitCode);
  const report: CrashReport = {
    time: new Date().toISOString(),
    version: VERSION,
    pid: end.pid,
    end: described,
    exitCode: end.exitCode,
    lastedSeconds: end.lastedSeconds,
    memory: fatal?.memory,
  };
  try {
    return { path: writeCrashReport(dataDir, report), end: described };
  } catch (error) {
    return { path: `none, ${errorMessage(error)}`, end: described };
  }
}

/** File names of the reports, oldest first. */
function reports(dataDir: string): readonly string[] {
  return readdirSync(folderOf(dataDir))
    .filter((name) => /^\d{4}-.*-\d+\.json$/.test(name))
    .toSorted();
}

function describeExit(exitCode: number | undefined): string {
  if (exitCode === undefined) return 'unknown: its supervisor had ended before';
  if (exitCode <= 128) return `exit code ${exitCode}`;
  const name = Object.entries(constants.signals).find(([, number]) => number === exitCode - 128)?.[0];
  return `signal ${name ?? exitCode - 128}`;
}

/** Cause and memory figures in V8's report of a fatal error. */
function takeFatalError(dataDir: string, pid: number): { readonly event: string; readonly memory: object } | undefined {
  const path = join(folderOf(dataDir), FATAL_ERROR);
  try {
    const { header, javascriptHeap, resourceUsage } = JSON.parse(readFileSync(path, 'utf8')) as {
      header: { event: string; processId: number };
      javascriptHeap: Record<string, unknown>;
      resourceUsage: Record<string, unknown>;
    };
    if (header.processId !== pid) return undefined;
    const { heapSpaces: _, ...heap } = javascriptHeap;
    return { event: header.event, memory: { ...heap, maxRss: resourceUsage['maxRss'] } };
  } catch {
    return undefined; // missing or incomplete
  } finally {
    rmSync(path, { force: true });
  }
}
