/** Worker thread that repeats the run of one file and serves its console until the thread is ended. */
import { parentPort, workerData } from 'node:worker_threads';
import { errorMessage } from '../base/errors.ts';
import { openReplay, seedOf } from '../testing/simulation/open-replay.ts';
import { parseScenario } from '../testing/scenario.ts';
import { withPlatform } from './run-once.ts';

/** What the thread begins with. */
export interface ReplayOrder {
  /** Text of the file. */
  readonly text: string;
  /** The address at which the console listens. */
  readonly host: string;
}

/** The thread's messages. It answers each message that it receives with a link. */
export type ReplayMessage =
  | { readonly kind: 'read'; readonly name: string }
  | { readonly kind: 'open'; readonly failure?: string | undefined }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'link'; readonly port: number; readonly path: string };

const send = (message: ReplayMessage): void => parentPort?.postMessage(message);

async function serve({ text, host }: ReplayOrder): Promise<void> {
  const scenario = parseScenario(text);
  send({ kind: 'read', name: scenario.name });
  await withPlatform(async ({ clock, log }) => {
    await using opened = await openReplay(scenario, seedOf(scenario), { clock, log, host });
    send({ kind: 'open', failure: opened.failure?.message });
    const ended = Promise.withResolvers<void>();
    parentPort?.on('message', () => {
      opened.cluster.console().then((link) => {
        const { port, pathname, hash } = new URL(link);
        send({ kind: 'link', port: Number(port), path: `${pathname}${hash}` });
      }, ended.reject);
    });
    await ended.promise;
  });
}

serve(workerData as ReplayOrder).catch((error: unknown) => send({ kind: 'refused', message: errorMessage(error) }));
