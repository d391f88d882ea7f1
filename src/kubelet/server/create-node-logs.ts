/**
 * `/logs`: the node's own logs, by path or by query. Upstream: Kubelet.ListenAndServe's logServer in
 * pkg/kubelet/kubelet.go.
 */
import type { HttpRequest, HttpResponse } from '../../platform/http.ts';
import type { Platform } from '../../platform/platform.ts';
import { joinBelow } from './join-below.ts';
import { readNodeLogQuery, type FileComplaint } from './node-log-query.ts';
import { serveNodeLogs } from './node-logs.ts';
import { createServiceLogs } from './service-logs.ts';
import { textResponse } from './text-response.ts';

export interface NodeLogsDeps {
  readonly platform: Pick<Platform, 'files' | 'exec'>;
  /** The directory of the logs. */
  readonly root: string;
  /** Whether queries are supported. */
  readonly queries: boolean;
}

/** Answers `/logs/<parts>`. */
export type NodeLogs = (request: HttpRequest, parts: readonly string[]) => Promise<HttpResponse>;

export function createNodeLogs({ platform, root, queries }: NodeLogsDeps): NodeLogs {
  const { files } = platform;
  const serviceLogs = createServiceLogs({ platform, root });
  // Clients on Windows send backslashes.
  const locate = (file: string): Promise<string> => joinBelow(files, root, file.replaceAll('\\', '/'));
  const complaint: FileComplaint = async (file) => {
    let path = '';
    try {
      path = await locate(file);
      await files.stat(path);
      return undefined;
    } catch (error) {
      return goMessage(path, error);
    }
  };
  return async (request, parts) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return textResponse(405, '405: Method Not Allowed');
    const query = queries ? await readNodeLogQuery(request.query, complaint) : undefined;
    if (query === undefined) return serveNodeLogs({ files, root }, request, parts);
    if (parts.length > 0) return textResponse(406, 'path not allowed in query mode\n');
    if (query.services.length > 0) return serviceLogs(request, query);
    const path = await locate(query.files[0]!);
    const names = path.slice(root.length).split('/');
    return serveNodeLogs(
      { files, root },
      request,
      names.filter((name) => name !== ''),
    );
  };
}

/** The message of Go's os.Stat for an error. */
function goMessage(path: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return `stat ${path}: no such file or directory`;
  return code === 'ENOTDIR' ? `stat ${path}: not a directory` : message;
}
