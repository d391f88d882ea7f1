/** The history on this thread and in memory: for tests on virtual time. */
import type { HistoryLog } from '../../history-log.ts';
import { HistoryAnswers } from './answer.ts';
import type { HistoryCall } from './history-protocol.ts';
import { createHistoryOver, type SqliteHistoryOptions } from './sqlite-history.ts';

/** Opened with the first question, as the one in a worker. */
export function createHistoryHere(
  options: Omit<SqliteHistoryOptions, 'path'> & { readonly path?: string },
): HistoryLog {
  const answers = new HistoryAnswers();
  const answerer = {
    call: async (op: string, request: object) => answers.answer({ id: 0, op, request } as HistoryCall) as never,
    end: async () => undefined,
  };
  return createHistoryOver({ path: ':memory:', ...options }, () => answerer);
}
