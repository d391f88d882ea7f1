/** The code inside a pool's thread (threads.ts). */
import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { basename } from 'node:path';
import { parentPort } from 'node:worker_threads';

export type TextReply = { readonly text: string } | { readonly name: string; readonly message: string };

/** The `nice` value: where processors are few, the event loop has priority over megabytes of text. */
const NICENESS = 10;

/** Lowers the priority of this thread, where threads have their own, as on Linux. */
function yieldToOthers(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), NICENESS);
  } catch {
    // A sandbox may lack or forbid /proc; only the priority differs.
  }
}

/** Serves one job after the other by these tasks. */
export function serveTexts(tasks: Readonly<Record<string, (text: string) => string>>): void {
  yieldToOthers();
  const reply = (task: string, text: string): TextReply => {
    try {
      const run = tasks[task];
      if (run === undefined) throw new Error(`a thread knows no task ${task}`);
      return { text: run(text) };
    } catch (error) {
      const { name, message } = error as Error;
      return { name, message };
    }
  };
  parentPort!.on('message', ({ task, text }: { task: string; text: string }) => {
    parentPort!.postMessage(reply(task, text));
  });
}
