// The conflicts of an apply with upstream's texts. Upstream: NewConflictError in managedfields/internal/conflict.go.

import type { StatusCause } from '../gen/meta-v1.ts';
import { fieldsOf, formatFieldPath, pathsOf, type FieldSet } from './field-set.ts';
import type { Manager } from './managers.ts';

/** A field that an apply would change and another manager owns. */
export interface ManagerConflict {
  readonly manager: Manager;
  readonly fields: FieldSet;
}

/** Message and causes of the 409 response; see applyConflict in status-error.ts. */
export interface ConflictReport {
  readonly message: string;
  readonly causes: StatusCause[];
}

/** The number of conflicts that an error lists; its message counts all of them. */
const MAX_LISTED = 1000;

/** Describes at least one conflict. */
export function describeConflicts(conflicts: readonly ManagerConflict[]): ConflictReport {
  let room = MAX_LISTED;
  let count = 0;
  const groups = conflicts
    .map(({ manager, fields }) => ({ who: printManager(manager), paths: pathsOf(fields) }))
    .sort((a, b) => (a.who < b.who ? -1 : 1))
    .map(({ who, paths }) => {
      count += paths.length;
      const shown = paths.slice(0, room).map(formatFieldPath);
      room -= shown.length;
      return { who, shown, left: paths.length - shown.length };
    });
  const causes = groups.flatMap(({ who, shown }) =>
    shown.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${who}`, field })),
  );
  const [only] = groups;
  if (count === 1 && only !== undefined) {
    return { message: `Apply failed with 1 conflict: conflict with ${only.who}: ${only.shown[0]}`, causes };
  }
  const texts = groups.map(({ who, shown, left }) => {
    const lines = [...shown, ...(left > 0 ? [`and ${left} more`] : [])];
    return `conflicts with ${who}:\n${lines.map((line) => `- ${line}`).join('\n')}`;
  });
  return { message: `Apply failed with ${count} conflicts: ${texts.join('\n')}`, causes };
}

/** The conflicts as a manager of the scale subresource sees them: over the replicas of a Scale. */
export function inScale(conflicts: readonly ManagerConflict[]): readonly ManagerConflict[] {
  return conflicts.map(({ manager }) => ({
    manager: { ...manager, apiVersion: 'autoscaling/v1' },
    fields: fieldsOf('spec.replicas'),
  }));
}

function printManager(m: Manager): string {
  const name =
    JSON.stringify(m.manager) + (m.subresource === '' ? '' : ` with subresource ${JSON.stringify(m.subresource)}`);
  if (m.operation !== 'Update') return name;
  return `${name} using ${m.apiVersion}`;
}
