// Loaded into a server before its program: the first SIGUSR2 makes it record history, the next one flushes it and stops that.
// SIGWINCH keeps the history's thread, which otherwise ends after ten seconds, and with it what it has spent.
import { isMainThread } from 'node:worker_threads';

import { HistoryRecorder } from '../../src/apiserver/history/history-recorder.ts';

if (isMainThread) {
  const { start, take, noteAuthor } = HistoryRecorder.prototype;
  let isOn = false;
  let flush = (): Promise<void> => Promise.resolve();
  let keepThread = (): unknown => undefined;
  process.on('SIGUSR2', () => {
    if (isOn) void flush();
    isOn = !isOn;
  });
  process.on('SIGWINCH', () => keepThread());
  Object.assign(HistoryRecorder.prototype, {
    start(this: HistoryRecorder, ...args: Parameters<typeof start>) {
      flush = async () => {
        await this.flush();
        keepThread = () => this.log.prune();
      };
      start.apply(this, args);
    },
    take(this: HistoryRecorder, ...args: Parameters<typeof take>) {
      if (isOn) take.apply(this, args);
    },
    noteAuthor(this: HistoryRecorder, ...args: Parameters<typeof noteAuthor>) {
      if (isOn) noteAuthor.apply(this, args);
    },
  });
}
