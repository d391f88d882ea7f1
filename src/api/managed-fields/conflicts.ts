// The conflicts of an apply, in upstream's words. Upstream: managedfields/internal/conflict.go.

import type { StatusCause } from '../gen/meta-v1.ts';
import { formatFieldPath, pathsOf, type FieldSet } from './field-set.ts';
import type { Manager } from './managers.ts';

/** Fields an apply would change that another manager owns. */
export interface ManagerConflict {
  readonly manager: Manager;
  readonly fields: FieldSet;
}

/** Message and causes of the 409 a client gets; see applyConflict in status-error.ts. */
export interface ConflictReport {
  readonly message: string;
  readonly causes: StatusCause[];
}

/** Describes conflicts; there is at least one. */
export function describeConflicts(conflicts: readonly ManagerConflict[]): ConflictReport {
  const groups = conflicts
    .map(({ manager, fields }) => ({ who: printManager(manager), paths: pathsOf(fields).map(formatFieldPath) }))
    .sort((a, b) => (a.who < b.who ? -1 : 1));
  const causes = groups.flatMap(({ who, paths }) =>
    paths.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${who}`, field })),
  );
  const [only] = groups;
  if (causes.length === 1 && only !== undefined) {
    return { message: `Apply failed with 1 conflict: conflict with ${only.who}: ${only.paths[0]}`, causes };
  }
  const texts = groups.map(({ who, paths }) => `conflicts with ${who}:\n${paths.map((p) => `- ${p}`).join('\n')}`);
  return { message: `Apply failed with ${causes.length} conflicts: ${texts.join('\n')}`, causes };
}

function printManager(m: Manager): string {
  const name =
    JSON.stringify(m.manager) + (m.subresource === '' ? '' : ` with subresource ${JSON.stringify(m.subresource)}`);
  if (m.operation !== 'Update') return name;
  return `${name} using ${m.apiVersion}`;
}
