/** For tests: a history log of which some calls do something else. */
import type { HistoryLog } from '../../storage/history-log.ts';

export function changedLog(log: HistoryLog, changes: Partial<HistoryLog>): HistoryLog {
  return {
    open: (revision, sinceMs) => log.open(revision, sinceMs),
    newRecords: (lane) => log.newRecords(lane),
    append: (batch) => log.append(batch),
    read: (query) => log.read(query),
    locate: (query) => log.locate(query),
    changedKeys: (query) => log.changedKeys(query),
    states: (query) => log.states(query),
    prune: () => log.prune(),
    close: () => log.close(),
    ...changes,
  };
}
