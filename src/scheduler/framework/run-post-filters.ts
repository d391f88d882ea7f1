/**
 * Runs PostFilter plugins in order, up to the first that nominates a node. The actions of those before it are carried
 * out too. Upstream: RunPostFilterPlugins.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { timedCall } from './plugin-timer.ts';
import type { CycleState, PostFilterInput, PostFilterResult, SchedulerPlugin } from './plugin.ts';

interface PostFilterCall {
  readonly state: CycleState;
  readonly pod: Stored<Pod>;
  readonly input: PostFilterInput;
}

/** Whether the result nominates a node. */
export function makesRoom({ nominatedNode = '', commit }: PostFilterResult): boolean {
  return nominatedNode !== '' && commit !== undefined;
}

/** The combined result of all plugins; a promise only where one of them returns a promise. */
export function runPostFilters(
  plugins: readonly SchedulerPlugin[],
  question: PostFilterCall,
): PostFilterResult | Promise<PostFilterResult> {
  let result: PostFilterResult = {};
  for (const [at, plugin] of plugins.entries()) {
    const { state, pod, input } = question;
    const outcome = timedCall(state, { plugin: plugin.name, point: 'PostFilter' }, () =>
      plugin.postFilter?.(state, pod, input),
    );
    if (outcome instanceof Promise)
      return continueAfter(result, { pending: outcome, rest: plugins.slice(at + 1), question });
    if (outcome !== undefined) result = mergeResults(result, outcome);
    if (makesRoom(result)) break;
  }
  return result;
}

async function continueAfter(
  before: PostFilterResult,
  later: { pending: Promise<PostFilterResult>; rest: readonly SchedulerPlugin[]; question: PostFilterCall },
): Promise<PostFilterResult> {
  const result = mergeResults(before, await later.pending);
  return makesRoom(result) ? result : mergeResults(result, await runPostFilters(later.rest, later.question));
}

function mergeResults(before: PostFilterResult, after: PostFilterResult): PostFilterResult {
  const { message: first = '', commit: one, ...kept } = before;
  const { message: second = '', commit: other, ...news } = after;
  // When a node was found, messages of plugins that could not help are not needed.
  const message = makesRoom(after) ? '' : [first, second].filter((text) => text !== '').join(', ');
  const commits = [one, other].filter((commit) => commit !== undefined);
  const commit = async (signal: AbortSignal): Promise<void> => {
    for (const each of commits) await each(signal);
  };
  return {
    ...kept,
    ...news,
    message: message !== '' ? message : undefined,
    commit: commits.length > 0 ? commit : undefined,
  };
}
