/**
 * The node's own logs: files below one directory, and directory listings as Go's file server writes them. Upstream:
 * InstallSystemLogHandler in pkg/kubelet/server. Symbolic links are followed, as upstream. Queries:
 * node-log-query.ts.
 */
import { hasErrorCode } from '../../base/errors.ts';
import type { FileHandle, Files, FileStat } from '../../platform/files.ts';
import type { HttpRequest, HttpResponse } from '../../platform/http.ts';
import type { ByteSink } from '../../platform/streams.ts';
import { ServerError, textResponse } from './text-response.ts';

const BLOCK_BYTES = 64 * 1024;
/** A file with a zero byte within this many bytes is not text. */
const SNIFFED_BYTES = 512;

/** Answers `/logs/<parts>`. */
export async function serveNodeLogs(
  { files, root }: { readonly files: Pick<Files, 'stat' | 'readDir' | 'open'>; readonly root: string },
  request: Pick<HttpRequest, 'method' | 'path'>,
  parts: readonly string[],
): Promise<HttpResponse> {
  if (parts.some((part) => part === '..' || /[/\0]/.test(part))) throw new ServerError(400, 'invalid URL path');
  const path = [root, ...parts.filter((part) => part !== '.')].join('/');
  const stat = await statOf(files, path);
  if (stat.kind === 'directory') {
    if (request.path.endsWith('/')) return listing(files, path);
    return textResponse(301, '', { location: `${request.path.slice(request.path.lastIndexOf('/') + 1)}/` });
  }
  // Opening a pipe or a device could block for ever.
  if (stat.kind !== 'file') throw notFoundError();
  return fileAnswer(files, { path, sizeBytes: stat.sizeBytes, onlyHead: request.method === 'HEAD' });
}

function notFoundError(): ServerError {
  return new ServerError(404, '404 page not found\n');
}

async function statOf(files: Pick<Files, 'stat'>, path: string): Promise<FileStat> {
  try {
    return await files.stat(path);
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) throw notFoundError();
    throw error;
  }
}

async function listing(files: Pick<Files, 'stat' | 'readDir'>, path: string): Promise<HttpResponse> {
  const names = [...(await files.readDir(path))].sort();
  const lines = await Promise.all(
    names.map(async (name) => {
      const kind = await files.stat(`${path}/${name}`).then(
        (stat) => stat.kind,
        () => 'file', // a dangling link is listed as a file
      );
      const shown = kind === 'directory' ? `${name}/` : name;
      return `<a href="./${encodeURIComponent(name)}${kind === 'directory' ? '/' : ''}">${escaped(shown)}</a>\n`;
    }),
  );
  const page = `<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${lines.join('')}</pre>\n`;
  return textResponse(200, page, { 'content-type': 'text/html; charset=utf-8' });
}

function escaped(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&#34;',
    "'": '&#39;',
  };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

/** The file up to its size at the time of the request. */
async function fileAnswer(
  files: Pick<Files, 'open'>,
  { path, sizeBytes, onlyHead }: { path: string; sizeBytes: number; onlyHead: boolean },
): Promise<HttpResponse> {
  const isText = !(await startOf(files, path)).includes(0);
  const headers = {
    'content-type': isText ? 'text/plain; charset=utf-8' : 'application/octet-stream',
    'content-length': String(sizeBytes),
  };
  if (onlyHead) return { kind: 'bytes', status: 200, headers, chunks: [] };
  return {
    kind: 'stream',
    status: 200,
    headers,
    run: async (sink) => copy(await files.open(path, 'r', { followLinks: true }), sizeBytes, sink),
  };
}

async function startOf(files: Pick<Files, 'open'>, path: string): Promise<Uint8Array> {
  const handle = await files.open(path, 'r', { followLinks: true });
  try {
    return await handle.read(0, SNIFFED_BYTES);
  } finally {
    await handle.close();
  }
}

/** Sends a file up to its current size. */
export async function copyFile(files: Pick<Files, 'stat' | 'open'>, path: string, sink: ByteSink): Promise<void> {
  const { sizeBytes } = await files.stat(path);
  await copy(await files.open(path, 'r', { followLinks: true }), sizeBytes, sink);
}

async function copy(handle: FileHandle, sizeBytes: number, sink: ByteSink): Promise<void> {
  try {
    for (let offset = 0; offset < sizeBytes;) {
      const block = await handle.read(offset, Math.min(BLOCK_BYTES, sizeBytes - offset));
      if (block.byteLength === 0) return; // the file was truncated meanwhile
      offset += block.byteLength;
      await sink.write(block);
    }
  } finally {
    await handle.close();
  }
}
