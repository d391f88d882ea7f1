/** Runs a command in a container, or attaches to its own process: the streams, and how it ended. */
import type { Status } from '../../api/gen/meta-v1.ts';
import { ApiError, send } from './http.ts';
import { type ObjectRef, objectPath } from './kinds.ts';
import { type ChannelStream, CHANNELS, openChannels } from './streams.ts';

export interface ExecOrder {
  readonly pod: ObjectRef;
  readonly container: string;
  /** Absent to attach to the container's own process. */
  readonly command?: readonly string[] | undefined;
  readonly tty: boolean;
  readonly stdin: boolean;
}

export type ExecEnd =
  | { readonly kind: 'success' }
  | { readonly kind: 'exit'; readonly code: string }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'lost'; readonly reason: string };

export interface ExecHandler {
  /** `channel` is that of standard output or standard error. */
  output(bytes: Uint8Array, channel: number): void;
  opened?(): void;
  /** Called once. */
  ended(end: ExecEnd): void;
}

export function openExec({ pod, container, command, tty, stdin }: ExecOrder, handler: ExecHandler): ChannelStream {
  const subresource = command === undefined ? 'attach' : 'exec';
  const params = new URLSearchParams({ container, stdin: String(stdin), stdout: 'true', tty: String(tty) });
  if (!tty) params.set('stderr', 'true');
  for (const part of command ?? []) params.append('command', part);
  let opened = false;
  let closedHere = false;
  let end: ExecEnd | undefined;
  const stream = openChannels(
    pod,
    { subresource, params },
    {
      opened() {
        opened = true;
        handler.opened?.();
      },
      data(channel, bytes) {
        if (channel === CHANNELS.error) end = endOf(new TextDecoder().decode(bytes));
        else if (bytes.length > 0) handler.output(bytes, channel);
      },
      closed(reason) {
        const lost = { kind: 'lost', reason } as const;
        if (end !== undefined || opened || closedHere) return handler.ended(end ?? lost);
        refusalOf(`${objectPath(pod, subresource)}?${params.toString()}`).then(
          (message) => handler.ended(message === '' ? lost : { kind: 'failed', message }),
          () => handler.ended(lost),
        );
      },
    },
  );
  return {
    ...stream,
    close() {
      closedHere = true;
      stream.close();
    },
  };
}

const NOT_FOUND =
  /executable file not found|no such file or directory|not found in \$PATH|exit code 12[67]|stat .*: no such/i;

/** Whether the image lacks the program. */
export function isMissingProgram(end: ExecEnd): boolean {
  return end.kind === 'failed' && NOT_FOUND.test(end.message);
}

/** How the command ended, from the Status at the end of the stream. */
export function endOf(text: string): ExecEnd {
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

/** Browsers give no reason for a refused WebSocket, so an ordinary request, which must fail too, reads the reason. */
async function refusalOf(path: string): Promise<string> {
  try {
    await send(path);
    return '';
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return /upgrade/i.test(error.message) ? '' : error.message;
  }
}

/** The output of a command, and how it ended. */
export interface CommandResult {
  readonly output: readonly Uint8Array<ArrayBuffer>[];
  readonly errors: string;
  readonly end: ExecEnd;
  /** True when the output exceeded the limit and the command was stopped. */
  readonly tooLong: boolean;
}

export interface CommandOptions {
  /** The limit of output in bytes. */
  readonly limit: number;
  readonly signal: AbortSignal;
  /** Called with the number of bytes so far. */
  progress?(bytes: number): void;
}

const MOST_ERRORS = 10_000;

/** Runs a command without input to its end. Resolves also when the command fails; rejects only when the signal aborts. */
export function runCommand(
  order: Pick<ExecOrder, 'pod' | 'container'> & { readonly command: readonly string[] },
  { limit, signal, progress }: CommandOptions,
): Promise<CommandResult> {
  const { promise, resolve, reject } = Promise.withResolvers<CommandResult>();
  const output: Uint8Array<ArrayBuffer>[] = [];
  const decoder = new TextDecoder();
  let errors = '';
  let bytes = 0;
  const finish = (end: ExecEnd, tooLong: boolean): void => resolve({ output, errors: errors.trim(), end, tooLong });
  const stream = openExec(
    { ...order, tty: false, stdin: false },
    {
      output(piece, channel) {
        if (channel === CHANNELS.stderr) {
          if (errors.length < MOST_ERRORS) errors += decoder.decode(piece);
          return;
        }
        bytes += piece.length;
        if (bytes > limit) {
          finish({ kind: 'lost', reason: '' }, true);
          stream.close();
          return;
        }
        output.push(Uint8Array.from(piece));
        progress?.(bytes);
      },
      ended: (end) => finish(end, false),
    },
  );
  signal.addEventListener('abort', () => {
    stream.close();
    reject(signal.reason as Error);
  });
  return promise;
}
