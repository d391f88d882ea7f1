/** Object history for tests in real time, in a worker's memory. */
import type { Clock } from '../../src/platform/clock.ts';
import { createMemoryLog } from '../../src/platform/sim/log.ts';
import type { HistoryLog } from '../../src/storage/history-log.ts';
import { createSqliteHistory } from '../../src/storage/sqlite/history/sqlite-history.ts';

export function historyInMemory(clock: Clock): HistoryLog {
  const limits = { sizeBytes: 64 << 20, ageMs: 3_600_000 };
  return createSqliteHistory({ path: ':memory:', limits, clock, log: createMemoryLog() });
}
