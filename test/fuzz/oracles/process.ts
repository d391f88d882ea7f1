// Whether the process is the one that was started, answers, and how much memory it holds.
import { readFileSync } from 'node:fs';
import type { Problem } from './answers.ts';
import type { OwnClient } from '../targets/own-client.ts';
import { STEADY } from '../targets/prepare.ts';

export function residentMib(pid: number): number {
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024);
}

/** When the process behind the port began: a supervisor may have started another one. */
export async function startTime(client: OwnClient): Promise<string> {
  const { body } = await client.send('GET', '/metrics');
  return /^process_start_time_seconds (\S+)/m.exec(String(body['text']))?.[1] ?? '';
}

/** What the process counted as unexpected: what a client sends is never that. */
export async function unexpectedErrors(client: OwnClient): Promise<Problem[]> {
  const { body } = await client.send('GET', '/metrics');
  return [...String(body['text']).matchAll(/^keelson_unexpected_errors_total(\{.*\}) ([1-9]\S*)/gm)].map(
    ([, labels, count]) => ({ signature: `unexpected errors ${labels}`, detail: `${count} of ${labels}` }),
  );
}

/** @throws Error when the server is not ready or an object of a well-behaved client is not what it wrote */
export async function checkServes(client: OwnClient, count: number): Promise<void> {
  const ready = await client.send('GET', '/readyz');
  if (ready.status !== 200) throw new Error(`/readyz answers ${ready.status}: ${JSON.stringify(ready.body)}`);
  const { status, body } = await client.send('GET', STEADY);
  const data = body['data'] as { count?: string } | undefined;
  if (status !== 200 || data?.count !== String(count))
    throw new Error(`the well-behaved client reads ${status} ${JSON.stringify(data)} instead of ${count}`);
}

/** A write and what comes of it. @throws Error when it is refused */
export async function checkWrites(client: OwnClient, count: number): Promise<void> {
  const value = { metadata: { name: 'steady' }, data: { count: String(count) } };
  const { status, body } = await client.send('PUT', STEADY, value);
  if (status !== 200) throw new Error(`the well-behaved client's write: ${status} ${JSON.stringify(body)}`);
}
