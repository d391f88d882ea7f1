/** The problems of one object, each once and limited in number, however many paths have them. */
import type { RouteProblem } from './cluster-view.ts';
import { LIMIT_EXCEEDED } from './snapshot-budget.ts';

const MAX_PROBLEMS = 20;

export class RouteProblems {
  readonly #found = new Map<string, RouteProblem>();

  add(problem: RouteProblem): void {
    if (this.#found.size < MAX_PROBLEMS || problem.reason === LIMIT_EXCEEDED)
      this.#found.set(`${problem.reason}: ${problem.message}`, problem);
  }

  all(): readonly RouteProblem[] {
    return [...this.#found.values()];
  }
}
