// The other client: a thread that reads one object continuously and measures the duration.
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { parentPort, workerData } from 'node:worker_threads';

import { kubeconfigOf } from './kubeconfig.ts';

const { kubeconfig, path } = workerData as { kubeconfig: string; path: string };
const { server, tls } = kubeconfigOf(readFileSync(kubeconfig, 'utf8'));
const agent = new Agent({ keepAlive: true, maxSockets: 1, ...tls });
let worst = 0;
let sentAt = 0;

function probe(): void {
  sentAt = performance.now();
  const done = (): void => {
    worst = Math.max(worst, performance.now() - sentAt);
    sentAt = 0;
    setTimeout(probe, 2);
  };
  request(new URL(path, server), { agent }, (response) => response.resume().on('end', done))
    .on('error', done)
    .end();
}

// A message requests the longest duration since the last one, including that of a pending request.
parentPort!.on('message', () => {
  parentPort!.postMessage(Math.max(worst, sentAt === 0 ? 0 : performance.now() - sentAt));
  worst = 0;
});
probe();
