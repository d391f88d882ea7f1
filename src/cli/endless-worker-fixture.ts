/** A thread that never answers and blocks its event loop. */
import { parentPort } from 'node:worker_threads';

parentPort?.on('message', () => {
  for (;;);
});
