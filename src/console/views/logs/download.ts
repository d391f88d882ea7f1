/** Saves logs as a file, as the server sends them. */
import type { Kind } from '../../api/kinds.ts';
import { textOf } from '../../api/lines.ts';
import { requestLog } from '../../api/streams.ts';
import { saveFile } from '../../parts/save-file.ts';
import type { LogSource } from './pod-logs.ts';

/** The limit of a file; longer logs are truncated at the end. */
const MOST_BYTES = 200 * 1024 * 1024;

interface Download {
  readonly pods: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly sources: readonly LogSource[];
  readonly previous: boolean;
}

/** One log is saved unchanged; several one after the other, with the pod and container before each line. */
export async function downloadLogs(download: Download, signal: AbortSignal): Promise<void> {
  const { name, sources } = download;
  const [first] = sources;
  if (first === undefined) return;
  if (sources.length === 1)
    return saveFile(`${first.pod}_${first.container}.log`, await (await logOf(download, first, signal)).blob());
  const parts: Blob[] = [];
  for (const source of sources) parts.push(await prefixed(await logOf(download, source, signal), source));
  saveFile(`${name}.log`, new Blob(parts));
}

function logOf(
  { pods, namespace, previous }: Download,
  { pod, container }: LogSource,
  signal: AbortSignal,
): Promise<Response> {
  const params = { container, limitBytes: String(MOST_BYTES), ...(previous ? { previous: 'true' } : {}) };
  return requestLog({ kind: pods, namespace, name: pod }, params, signal);
}

/** Prefixes lines as `kubectl logs --prefix` does. */
async function prefixed(response: Response, { pod, container }: LogSource): Promise<Blob> {
  const prefix = `[pod/${pod}/${container}] `;
  const parts: string[] = [];
  let atBegin = true;
  for await (const piece of textOf(response)) {
    if (piece === '') continue;
    parts.push(`${atBegin ? prefix : ''}${piece.slice(0, -1).replaceAll('\n', `\n${prefix}`)}${piece.at(-1)!}`);
    atBegin = piece.endsWith('\n');
  }
  if (!atBegin) parts.push('\n');
  return new Blob(parts);
}
