// Checks that the process is the one that was started, and reads its memory.
import { readFileSync } from 'node:fs';
import type { Problem } from './answers.ts';
import type { OwnClient } from '../targets/own-client.ts';

export function residentMib(pid: number): number {
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024);
}

/** The start time of the process behind the port; a supervisor may have started another one. */
export async function startTime(client: OwnClient): Promise<string> {
  const { body } = await client.send('GET', '/metrics');
  return /^process_start_time_seconds (\S+)/m.exec(String(body['text']))?.[1] ?? '';
}

/** The errors that the process counted as unexpected; input of clients must never be one. */
export async function unexpectedErrors(client: OwnClient): Promise<Problem[]> {
  const { body } = await client.send('GET', '/metrics');
  return [...String(body['text']).matchAll(/^keelson_unexpected_errors_total(\{.*\}) ([1-9]\S*)/gm)].map(
    ([, labels, count]) => ({ signature: `unexpected errors ${labels}`, detail: `${count} of ${labels}` }),
  );
}
