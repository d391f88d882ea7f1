/** Label and field selectors of a request, checked against the resource. Upstream: storage.SelectionPredicate. */
import { type FieldSelector, matchesFields, requiredFieldValue } from '../../api/field-selector.ts';
import type { LabelMatcher } from '../../api/label-selector.ts';
import { everything } from '../../api/label-selector.ts';
import { badRequest } from '../../api/status-error.ts';
import type { RequestScope } from '../request-scope.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import { boundedFieldSelector, boundedLabelSelector } from './bounded-selectors.ts';
import type { GenericStore } from './generic-store.ts';

export interface Selection {
  readonly labels: LabelMatcher;
  readonly fields: FieldSelector;
  readonly isEverything: boolean;
  /** The name that the field selector requires, if any. */
  readonly name: string | undefined;
}

export const selectAll: Selection = { labels: everything, fields: [], isEverything: true, name: undefined };

/** The error text: kinds with fields of their own name the unsupported field, others list the supported ones. */
function unsupportedLabel({ definition, info, apiVersion }: GenericStore, field: string): string {
  if (info.group === 'batch' && info.kind === 'Job')
    return `field label ${JSON.stringify(field)} not supported for Job`;
  if (info.kind === 'ResourceSlice') return `field label not supported for ${apiVersion}, Kind=ResourceSlice: ${field}`;
  if (definition.selectableFields !== undefined || definition.schema !== undefined)
    return `field label not supported: ${field}`;
  return `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`;
}

/**
 * The selection of a list, watch or deletecollection, restricted to the name that was authorized. Throws 400.
 * Upstream: endpoints/handlers.ListResource.
 */
export function selectionOf(store: GenericStore, { info, params }: RequestScope): Selection {
  // The selectors of a watch by its path are not authorized, so they may only narrow the selection.
  const via = info.viaWatchPath === true;
  const labelText = (via ? params.get('labelSelector') : info.labelSelector) ?? '';
  const fieldText = (via ? params.get('fieldSelector') : info.fieldSelector) ?? '';
  if (labelText === '' && fieldText === '' && info.name === '') return selectAll;
  const labels = labelText === '' ? everything : boundedLabelSelector(labelText);
  const fieldSelector = fieldText === '' ? [] : boundedFieldSelector(fieldText);
  const fields: FieldSelector =
    info.name !== '' && fieldSelector.length === 0
      ? [{ field: 'metadata.name', operator: '=', value: info.name }]
      : fieldSelector;
  const name = requiredFieldValue(fields, 'metadata.name');
  if (info.name !== '' && name !== info.name)
    throw badRequest("fieldSelector metadata.name doesn't match requested name");
  const unknown = store.unknownField(fields);
  if (unknown !== undefined) {
    throw badRequest(unsupportedLabel(store, unknown));
  }
  return { labels, fields, isEverything: labels.isEverything && fields.length === 0, name };
}

/** Whether a cell is selected. */
export function selects(store: GenericStore, selection: Selection, cell: RevisionCell): boolean {
  if (selection.isEverything) return true;
  // The key ends with the name, so objects with other names need not be decoded.
  if (selection.name !== undefined && !cell.key.endsWith(`/${selection.name}`)) return false;
  if (!selection.labels.isEverything && !selection.labels.matches(store.object(cell).metadata.labels)) return false;
  return selection.fields.length === 0 || matchesFields(selection.fields, store.fields(cell));
}
