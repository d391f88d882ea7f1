/** Conditions of a namespace that is being deleted. Pure. Upstream: controller/namespace/deletion status_condition_utils. */
import { formatTime } from '../../api/time.ts';
import type { NamespaceCondition } from '../../api/gen/core-v1.ts';
import type { ContentReport } from './content.ts';

type ConditionState = Pick<NamespaceCondition, 'status'> & { readonly reason: string; readonly message: string };

/** The conditions after a round; unchanged ones keep their transition time. */
export function deletionConditions(
  old: readonly NamespaceCondition[] | undefined,
  report: ContentReport,
  nowMs: number,
): NamespaceCondition[] {
  let conditions = [...(old ?? [])];
  for (const [type, words] of Object.entries(wordsOf(report))) {
    const before = conditions.find((condition) => condition.type === type);
    // Conditions are added only after an error, and kept from then on.
    if (
      before === undefined &&
      words.status === 'False' &&
      report.remaining.size === 0 &&
      report.failures.length === 0 &&
      report.stale.length === 0
    )
      continue;
    if (
      before !== undefined &&
      before.status === words.status &&
      before.reason === words.reason &&
      before.message === words.message
    )
      continue;
    const lastTransitionTime =
      before?.status === words.status ? (before.lastTransitionTime ?? formatTime(nowMs)) : formatTime(nowMs);
    const next = { type, lastTransitionTime, ...words };
    conditions =
      before === undefined
        ? [...conditions, next]
        : conditions.map((condition) => (condition === before ? next : condition));
  }
  return conditions;
}

function wordsOf({ stale, failures, remaining, finalizers }: ContentReport): Record<string, ConditionState> {
  return {
    NamespaceDeletionDiscoveryFailure:
      stale.length === 0
        ? { status: 'False', reason: 'ResourcesDiscovered', message: 'All resources successfully discovered' }
        : {
            status: 'True',
            reason: 'DiscoveryFailed',
            message: `Discovery failed for some groups, ${stale.length} failing: unable to retrieve the complete list of server APIs: ${stale.map((gv) => `${gv}: stale GroupVersion discovery: ${gv}`).join(', ')}`,
          },
    NamespaceDeletionGroupVersionParsingFailure: {
      status: 'False',
      reason: 'ParsedGroupVersions',
      message: 'All legacy kube types successfully parsed',
    },
    NamespaceDeletionContentFailure:
      failures.length === 0
        ? {
            status: 'False',
            reason: 'ContentDeleted',
            message: 'All content successfully deleted, may be waiting on finalization',
          }
        : {
            status: 'True',
            reason: 'ContentDeletionFailed',
            message: `Failed to delete all resource types, ${failures.length} remaining: ${failures
              .map((f) => (f.error as Error).message)
              .sort()
              .join(', ')}`,
          },
    NamespaceContentRemaining:
      remaining.size === 0
        ? { status: 'False', reason: 'ContentRemoved', message: 'All content successfully removed' }
        : {
            status: 'True',
            reason: 'SomeResourcesRemain',
            message: `Some resources are remaining: ${[...remaining]
              .map(([resource, count]) => `${resource} has ${count} resource instances`)
              .sort()
              .join(', ')}`,
          },
    NamespaceFinalizersRemaining:
      finalizers.size === 0
        ? { status: 'False', reason: 'ContentHasNoFinalizers', message: 'All content-preserving finalizers finished' }
        : {
            status: 'True',
            reason: 'SomeFinalizersRemain',
            message: `Some content in the namespace has finalizers remaining: ${[...finalizers]
              .map(([name, count]) => `${name} in ${count} resource instances`)
              .sort()
              .join(', ')}`,
          },
  };
}
