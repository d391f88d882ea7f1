/** The weight of a watch's first state in the budget of lists. */
import { select } from '../generic-registry/list.ts';
import type { Selection } from '../generic-registry/selection.ts';
import { answerPaceOf } from '../turns.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import type { Call } from './endpoint.ts';

/**
 * The cells that are sent: an agent that watches the pods of its node does not pay for those of the cluster. None for callers
 * inside the process, which take the objects that are there.
 */
export async function countedCells(
  { store, scope }: Call,
  selection: Selection,
  cells: readonly RevisionCell[],
): Promise<readonly RevisionCell[]> {
  if (scope.request.wantsObjects) return [];
  if (selection.isEverything) return cells;
  const pace = answerPaceOf(scope.request, store.services.clock);
  return (await select(store, selection, { cells, from: 0, limit: 0, pace })).page;
}
