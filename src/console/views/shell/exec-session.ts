/** Connects a command in a container, or its own process, with a terminal: its output, and how it ended. */
import { type ExecEnd, type ExecOrder, isMissingProgram, openExec } from '../../api/exec.ts';
import { type ChannelStream, CHANNELS } from '../../api/streams.ts';

export interface SessionOrder extends Omit<ExecOrder, 'command'> {
  /** Commands in order; the next one is used when the image lacks the one before. Empty to attach to the container's process. */
  readonly commands: readonly (readonly string[])[];
}

export type SessionEnd = ExecEnd | { readonly kind: 'noCommand' };

export interface SessionHandler {
  output(bytes: Uint8Array): void;
  opened(): void;
  /** Called once. */
  ended(end: SessionEnd): void;
}

export interface Session {
  input(bytes: Uint8Array): void;
  resize(columns: number, rows: number): void;
  close(): void;
}

/** Bash when the image has it, else sh. */
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

export function openSession({ commands, ...order }: SessionOrder, handler: SessionHandler): Session {
  let stream: ChannelStream | undefined;
  let closed = false;
  const attempt = (index: number): void => {
    let wrote = false;
    stream = openExec(
      { ...order, command: commands[index] },
      {
        output(bytes) {
          wrote = true;
          handler.output(bytes);
        },
        opened: handler.opened,
        ended(end) {
          if (closed) return;
          if (wrote || !isMissingProgram(end)) handler.ended(end);
          else if (index + 1 < commands.length) attempt(index + 1);
          else handler.ended(commands === SHELLS ? { kind: 'noCommand' } : end);
        },
      },
    );
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
