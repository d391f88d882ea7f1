/** A command in a container, or its own process, joined to a terminal: what it says, and how it ended. */
import type { Status } from '../../../api/gen/meta-v1.ts';
import { ApiError, send } from '../../api/http.ts';
import { type ObjectRef, objectPath } from '../../api/kinds.ts';
import { type ChannelStream, CHANNELS, openChannels } from '../../api/streams.ts';

export interface SessionOrder {
  readonly pod: ObjectRef;
  readonly container: string;
  /** Each is tried when the image does not have the one before. Empty: attach to the container's own process. */
  readonly commands: readonly (readonly string[])[];
  readonly tty: boolean;
  readonly stdin: boolean;
}

export type SessionEnd =
  | { readonly kind: 'success' }
  | { readonly kind: 'exit'; readonly code: string }
  | { readonly kind: 'noCommand' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'lost'; readonly reason: string };

export interface SessionHandler {
  output(bytes: Uint8Array): void;
  opened(): void;
  /** Once. */
  ended(end: SessionEnd): void;
}

export interface Session {
  input(bytes: Uint8Array): void;
  resize(columns: number, rows: number): void;
  close(): void;
}

/** Bash where the image has it. */
export const SHELLS: readonly (readonly string[])[] = [
  [
    '/bin/sh',
    '-c',
    'TERM=xterm-256color; export TERM; if command -v bash > /dev/null 2>&1; then exec bash; else exec sh; fi',
  ],
  ['sh'],
  ['bash'],
  ['busybox', 'sh'],
];

const NOT_FOUND =
  /executable file not found|no such file or directory|not found in \$PATH|exit code 12[67]|stat .*: no such/i;

export function openSession(order: SessionOrder, handler: SessionHandler): Session {
  let stream: ChannelStream | undefined;
  let closed = false;
  const attempt = (index: number): void => {
    stream = openOne(order, order.commands[index], {
      output: handler.output,
      opened: handler.opened,
      ended(end, wrote) {
        if (closed) return;
        const missing = end.kind === 'failed' && !wrote && NOT_FOUND.test(end.message);
        if (!missing) handler.ended(end);
        else if (index + 1 < order.commands.length) attempt(index + 1);
        else handler.ended(order.commands === SHELLS ? { kind: 'noCommand' } : end);
      },
    });
  };
  attempt(0);
  return {
    input: (bytes) => stream?.write(CHANNELS.stdin, bytes),
    resize: (columns, rows) => stream?.resize(columns, rows),
    close() {
      closed = true;
      stream?.close();
    },
  };
}

interface AttemptHandler {
  output(bytes: Uint8Array): void;
  opened(): void;
  ended(end: SessionEnd, wrote: boolean): void;
}

function openOne(
  { pod, container, tty, stdin }: SessionOrder,
  command: readonly string[] | undefined,
  handler: AttemptHandler,
): ChannelStream {
  const subresource = command === undefined ? 'attach' : 'exec';
  const params = new URLSearchParams({ container, stdin: String(stdin), stdout: 'true', tty: String(tty) });
  if (!tty) params.set('stderr', 'true');
  for (const part of command ?? []) params.append('command', part);
  let wrote = false;
  let opened = false;
  let end: SessionEnd | undefined;
  return openChannels(
    pod,
    { subresource, params },
    {
      opened() {
        opened = true;
        handler.opened();
      },
      data(channel, bytes) {
        if (channel === CHANNELS.error) end = endOf(new TextDecoder().decode(bytes));
        else if (bytes.length > 0) {
          wrote = true;
          handler.output(bytes);
        }
      },
      closed(reason) {
        if (end !== undefined || opened) return handler.ended(end ?? { kind: 'lost', reason }, wrote);
        void refusalOf(`${objectPath(pod, subresource)}?${params.toString()}`).then((message) =>
          handler.ended(message === '' ? { kind: 'lost', reason } : { kind: 'failed', message }, false),
        );
      },
    },
  );
}

/** How the command ended, by the Status at the end of the stream. */
export function endOf(text: string): SessionEnd {
  let status: Partial<Status>;
  try {
    status = JSON.parse(text) as Partial<Status>;
  } catch {
    return { kind: 'failed', message: text };
  }
  if (status.status === 'Success') return { kind: 'success' };
  const code = status.details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message;
  return code === undefined ? { kind: 'failed', message: status.message ?? text } : { kind: 'exit', code };
}

/** Browsers tell nothing of a refused WebSocket: the same is asked for as an ordinary request, which cannot succeed. */
async function refusalOf(path: string): Promise<string> {
  try {
    await send(path);
    return '';
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return /upgrade/i.test(error.message) ? '' : error.message;
  }
}
