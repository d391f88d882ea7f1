/**
 * Logs of the node's services: by journald where it knows the service, else the files that bear its name below the folder
 * of the node's logs. Upstream: nodeLogQuery.Copy in pkg/kubelet/kubelet_server_journal.go.
 */
import { formatTime } from '../../api/time.ts';
import type { HttpResponse } from '../../platform/http.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ByteSink } from '../../platform/streams.ts';
import { copyFile } from './node-logs.ts';
import type { NodeLogOptions, NodeLogQuery } from './node-log-query.ts';

/** Where logs are. */
export interface ServiceLogsDeps {
  readonly platform: Pick<Platform, 'files' | 'exec'>;
  readonly root: string;
}

const TIMEOUT_MS = 30_000;
/** As much as is kept of what a program says. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Answers with the logs of the services asked for, one after the other. */
export async function serveServiceLogs(deps: ServiceLogsDeps, asked: NodeLogQuery): Promise<HttpResponse> {
  const known = await journaled(deps);
  const inJournal = asked.services.filter((name) => known.includes(`${name}.service`));
  const inFiles = asked.services.filter((name) => !inJournal.includes(name));
  return {
    kind: 'stream',
    status: 200,
    headers: { 'content-type': 'text/plain;charset=UTF-8' },
    async run(sink) {
      const say = (text: string): Promise<void> => sink.write(Buffer.from(text));
      if (inJournal.length > 0) await say(await journal(deps, inJournal, asked.options));
      if (inFiles.length > 0 && Object.keys(asked.options).length > 0)
        return say(
          `\noptions present and query resolved to log files for [${inFiles.join(' ')}]\ntry without specifying options\n`,
        );
      for (const name of inFiles) await copyLogOf(deps, name, sink);
    },
  };
}

/** What journald knows: it answers for services that it does not as if they had said nothing. */
async function journaled({ platform }: ServiceLogsDeps): Promise<string> {
  try {
    const { exitCode, stdout } = await platform.exec.run('journalctl', ['--field', '_SYSTEMD_UNIT'], {
      timeoutMs: TIMEOUT_MS,
    });
    return exitCode === 0 ? stdout : '';
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return ''; // No journald.
    throw error;
  }
}

async function journal(
  { platform }: ServiceLogsDeps,
  services: readonly string[],
  options: NodeLogOptions,
): Promise<string> {
  const { stdout, stderr, timedOut } = await platform.exec.run('journalctl', journalArguments(services, options), {
    timeoutMs: TIMEOUT_MS,
  });
  const more = stdout.length >= MAX_BYTES ? '\nerror: there is more in the journal; ask for less\n' : '';
  return `${stdout}${stderr}${more}${timedOut ? '\nerror: journal output not available\n' : ''}`;
}

/** Every value is part of its option, so that none can be taken for another. */
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

async function copyLogOf({ platform, root }: ServiceLogsDeps, service: string, sink: ByteSink): Promise<void> {
  for (const name of [service, `${service}.log`, `${service}/${service}.log`]) {
    const path = await fileBelow(platform.files, `${root}/${name}`, root);
    if (path !== undefined) return copyFile(platform.files, path, sink);
  }
  await sink.write(Buffer.from(`\nlog not found for ${service}\n`));
}

/** The file at a path; undefined where there is none, or where a link leads elsewhere than to a name beside it. */
async function fileBelow(files: Platform['files'], path: string, root: string): Promise<string | undefined> {
  const folder = path.slice(0, path.lastIndexOf('/'));
  try {
    if (folder !== root && (await files.lstat(folder)).kind !== 'directory') return undefined;
    const { kind } = await files.lstat(path);
    if (kind === 'file') return path;
    if (kind !== 'symlink') return undefined;
    const target = await files.readLink(path);
    if (target.includes('/') || target === '..') return undefined;
    return (await files.lstat(`${folder}/${target}`)).kind === 'file' ? `${folder}/${target}` : undefined;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as { code?: string }).code ?? '')) return undefined;
    throw error;
  }
}
