// Loaded into the server before its own program: records each time the main thread was busy between two runs of a timer. It
// counts processor time, so that other programs of the machine do not count.
import { appendFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const file = process.env['KEELSON_HALTS_FILE'];
const EVERY_MS = 4;
/** Shorter halts are not recorded. */
const LEAST_MS = 8;

if (isMainThread && file !== undefined) {
  const busyMs = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let before = busyMs();
  setInterval(() => {
    const now = busyMs();
    const haltMs = now - before;
    before = now;
    if (haltMs >= LEAST_MS) appendFileSync(file, `${haltMs}\n`);
  }, EVERY_MS).unref();
}
