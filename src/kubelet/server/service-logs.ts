/**
 * Logs of the node's services: from journald if it knows the service, otherwise from files with its name below the
 * node's log directory. Upstream: nodeLogQuery.Copy in pkg/kubelet/kubelet_server_journal.go.
 *
 * Differs: journalctl is killed when its client disconnects; few journalctl processes run at a time; unit names must
 * match completely (upstream accepts `proxy` for kube-proxy).
 */
import { formatTime } from '../../api/time.ts';
import { hasErrorCode } from '../../base/errors.ts';
import type { HttpRequest, HttpResponse } from '../../platform/http.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ByteSink } from '../../platform/streams.ts';
import { joinBelow } from './join-below.ts';
import { copyFile } from './node-logs.ts';
import type { NodeLogOptions, NodeLogQuery } from './node-log-query.ts';
import { ServerError } from './text-response.ts';

export interface ServiceLogsDeps {
  readonly platform: Pick<Platform, 'files' | 'exec'>;
  readonly root: string;
}

/** Answers with the logs of the requested services, one after the other. */
export type ServiceLogs = (
  request: Pick<HttpRequest, 'method' | 'signal'>,
  asked: NodeLogQuery,
) => Promise<HttpResponse>;

const TIMEOUT_MS = 30_000;
/** The output limit of the exec port (spawner.ts); the rest is cut off. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
/** The most journalctl processes at a time: searching a journal takes seconds of CPU time. */
const MAX_AT_A_TIME = 4;

/** All requests share one limit. */
export function createServiceLogs(deps: ServiceLogsDeps): ServiceLogs {
  let running = 0;
  return async (request, query) => {
    if (running >= MAX_AT_A_TIME) throw new ServerError(429, 'too many queries of logs at a time, try again later\n');
    running++;
    try {
      return await serveServiceLogs(deps, request, query);
    } catch (error) {
      if (request.signal.aborted) throw new ServerError(499, 'the client is gone\n');
      throw error;
    } finally {
      running--;
    }
  };
}

async function serveServiceLogs(
  deps: ServiceLogsDeps,
  { method, signal }: Parameters<ServiceLogs>[0],
  { services, options }: NodeLogQuery,
): Promise<HttpResponse> {
  const head = { status: 200, headers: { 'content-type': 'text/plain;charset=UTF-8' } };
  if (method === 'HEAD') return { kind: 'bytes', ...head, chunks: [] };
  const journaledUnits = await journaled(deps, signal);
  const inJournal = services.filter((name) => journaledUnits.has(`${name}.service`));
  const inFiles = services.filter((name) => !inJournal.includes(name));
  const lines = inJournal.length > 0 ? await journal(deps, journalArguments(inJournal, options), signal) : '';
  return {
    kind: 'stream',
    ...head,
    async run(sink) {
      const write = (text: string): Promise<void> => sink.write(Buffer.from(text));
      if (lines !== '') await write(lines);
      if (inFiles.length > 0 && Object.keys(options).length > 0)
        return write(
          `\noptions present and query resolved to log files for [${inFiles.join(' ')}]\ntry without specifying options\n`,
        );
      for (const name of inFiles) await copyLogOf(deps, name, sink);
    },
  };
}

/**
 * The units that journald knows. For an unknown unit journalctl prints an empty log, like for a unit without entries.
 */
async function journaled({ platform }: ServiceLogsDeps, signal: AbortSignal): Promise<ReadonlySet<string>> {
  try {
    const { exitCode, stdout } = await platform.exec.run('journalctl', ['--field', '_SYSTEMD_UNIT'], {
      timeoutMs: TIMEOUT_MS,
      signal,
    });
    return new Set(exitCode === 0 ? stdout.split('\n') : []);
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return new Set(); // no journald
    throw error;
  }
}

async function journal({ platform }: ServiceLogsDeps, args: readonly string[], signal: AbortSignal): Promise<string> {
  const { stdout, stderr, timedOut } = await platform.exec.run('journalctl', args, { timeoutMs: TIMEOUT_MS, signal });
  const more =
    Buffer.byteLength(stdout) >= MAX_OUTPUT_BYTES ? '\nerror: there is more in the journal; ask for less\n' : '';
  return `${stdout}${stderr}${more}${timedOut ? '\nerror: journal output not available\n' : ''}`;
}

/** Each value is passed as `--option=value`, so that no value can be parsed as an option. */
function journalArguments(services: readonly string[], options: NodeLogOptions): string[] {
  const { sinceMs, untilMs, tailLines, boot, pattern } = options;
  const time = (ms: number): string => formatTime(ms).replace('T', ' ').replace('Z', ' UTC');
  return [
    '--utc',
    '--no-pager',
    '--output=short-precise',
    ...(sinceMs === undefined ? [] : [`--since=${time(sinceMs)}`]),
    ...(untilMs === undefined ? [] : [`--until=${time(untilMs)}`]),
    ...(tailLines === undefined ? [] : [`--lines=${tailLines}`]),
    ...services.map((name) => `--unit=${name}`),
    ...(pattern === undefined ? [] : [`--grep=${pattern}`]),
    ...(boot === undefined ? [] : [`--boot=${boot}`]),
  ];
}

async function copyLogOf(
  { platform: { files }, root }: ServiceLogsDeps,
  service: string,
  sink: ByteSink,
): Promise<void> {
  for (const name of [service, `${service}.log`, `${service}/${service}.log`]) {
    const path = await joinBelow(files, root, name);
    if (await isFile(files, path)) return copyFile(files, path, sink);
  }
  await sink.write(Buffer.from(`\nlog not found for ${service}\n`));
}

async function isFile(files: Platform['files'], path: string): Promise<boolean> {
  try {
    return (await files.lstat(path)).kind === 'file';
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return false;
    throw error;
  }
}
