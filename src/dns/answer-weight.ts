/** Estimates the memory of an answer, so that caches of answers are limited by bytes. */
import type { Answer, ResourceRecord } from './resolver.ts';

/** The weight of a record beside its texts and bytes. */
const RECORD_BYTES = 200;
const VALUE_BYTES = 32;

/** Approximate bytes. */
export function weightOf({ answers, authorities, additionals }: Answer): number {
  return [answers, authorities, additionals].reduce((sum, records) => sum + weightOfRecords(records), RECORD_BYTES);
}

function weightOfRecords(records: readonly ResourceRecord[]): number {
  let sum = 0;
  for (const { name, data } of records) sum += RECORD_BYTES + name.length + weightOfData(data);
  return sum;
}

function weightOfData(data: unknown): number {
  if (typeof data === 'string') return VALUE_BYTES + data.length;
  if (data instanceof Uint8Array) return 3 * VALUE_BYTES + data.length;
  if (typeof data !== 'object' || data === null) return VALUE_BYTES;
  let sum = VALUE_BYTES;
  for (const value of Object.values(data)) sum += weightOfData(value);
  return sum;
}
