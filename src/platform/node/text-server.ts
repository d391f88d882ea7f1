/** The inside of a thread of a pool (threads.ts). */
import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { basename } from 'node:path';
import { parentPort } from 'node:worker_threads';

/** What a job came to. */
export type TextReply = { readonly text: string } | { readonly name: string; readonly message: string };

/** As `nice`: the loop, on which everybody waits, goes before texts of megabytes where processors are few. */
const NICENESS = 10;

/** Linux has a priority for each thread; elsewhere a thread has its process's. */
function yieldToOthers(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), NICENESS);
  } catch {
    // A sandbox without /proc, or one that forbids it: the work is the same.
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
