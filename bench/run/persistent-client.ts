/** Requests of a benchmark that runs for an hour: late responses of a busy machine do not end it. */
import type { KubeClient } from '../../tools/up/kube-client.ts';
import { sleep } from './wait.ts';

const ATTEMPTS = 20;
const PAUSE_MS = 3000;

/** Repeats requests without a response, or with 429, 500 or above; at most 20 times. */
export function persistentClient(client: KubeClient): KubeClient {
  return {
    ...client,
    async send(path, question) {
      for (let attempt = 1; ; attempt++) {
        try {
          const answer = await client.send(path, question);
          if ((answer.status !== 429 && answer.status < 500) || attempt === ATTEMPTS) return answer;
        } catch (error) {
          if (attempt === ATTEMPTS) throw error;
        }
        await sleep(PAUSE_MS);
      }
    },
  };
}

/** Sends one request. An attempt without a response may have taken effect: "exists already" and "not found" are no failures. */
export async function persist(
  client: KubeClient,
  method: 'POST' | 'DELETE',
  { path, body }: { path: string; body?: object },
): Promise<void> {
  const answer = await client.send(path, { method, body });
  const done = answer.status < 300 || answer.status === (method === 'POST' ? 409 : 404);
  if (!done) throw new Error(`${method} ${path} was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
}
