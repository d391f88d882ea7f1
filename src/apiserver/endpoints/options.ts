/** Options in the query, read and checked. Upstream: metav1 options with their validation. */
import { type Int64, parseInt64 } from '../../api/int64.ts';
import type { DeleteOptions } from '../../api/gen/meta-v1.ts';
import { Field } from '../../api/field-error.ts';
import { validateFieldManager } from '../../api/meta-validation.ts';
import { badRequest, type FieldCause, invalid } from '../../api/status-error.ts';
import type { FieldValidation } from '../../api/codec/typed.ts';
import { isTrue } from '../request-info.ts';
import type { RequestScope } from '../request-scope.ts';
import { appendAll } from '../../base/lists.ts';

const META_GROUP = 'meta.k8s.io';

function unsupported(field: string, value: string, supported: readonly string[]): FieldCause {
  const text = `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported.map((v) => JSON.stringify(v)).join(', ')}`;
  return { reason: 'FieldValueNotSupported', field, text };
}

/** Whether nothing shall be stored. Throws 422 for any other value than All. */
export function dryRunOf(params: URLSearchParams, kind: string): boolean {
  const values = params.getAll('dryRun').filter((value) => value !== '');
  const errors = wrongDryRun(values);
  if (errors.length > 0) throw invalid({ group: META_GROUP, kind }, '', errors);
  return values.length > 0;
}

function wrongDryRun(values: readonly string[]): FieldCause[] {
  if (values.every((value) => value === 'All')) return [];
  const text = `Unsupported value: ${JSON.stringify(values)}: supported values: "All"`;
  return [{ reason: 'FieldValueNotSupported', field: 'dryRun', text }];
}

const FIELD_VALIDATIONS = ['', 'Ignore', 'Strict', 'Warn'];

/** How unknown fields are treated; Warn unless said otherwise. Throws 422. */
export function fieldValidationOf(params: URLSearchParams, kind: string): FieldValidation {
  const value = params.get('fieldValidation') ?? '';
  if (!FIELD_VALIDATIONS.includes(value)) {
    throw invalid({ group: META_GROUP, kind }, '', [unsupported('fieldValidation', value, FIELD_VALIDATIONS)]);
  }
  return value === '' ? 'Warn' : (value as FieldValidation);
}

const MAX_MANAGER_LENGTH = 128;

/** The field manager of a write: as given, or the user agent up to the slash. Throws 422. */
export function managerOf(scope: RequestScope, kind: string): string {
  const manager = scope.params.get('fieldManager') ?? '';
  if (manager === '') return scope.userAgent.split('/')[0]!.slice(0, MAX_MANAGER_LENGTH) || 'unknown';
  const field = Field.named('fieldManager');
  validateFieldManager(manager, field);
  if (field.errors.length > 0) throw invalid({ group: META_GROUP, kind }, '', field.errors);
  return manager;
}

/** An int64 of the query; undefined when absent. Throws 400. Upstream: Convert_Slice_string_To_int64. */
export function int64Param(params: URLSearchParams, name: string): Int64 | undefined {
  const text = params.get(name);
  if (text === null || text === '') return undefined;
  const value = /^[+-]?\d+$/.test(text) ? parseInt64(text) : 'invalid syntax';
  if (typeof value === 'string') throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${value}`);
  return value;
}

/** A resourceVersion as a number; undefined when absent. Throws 400. */
export function revisionParam(params: URLSearchParams): number | undefined {
  const text = params.get('resourceVersion');
  if (text === null || text === '') return undefined;
  if (!/^\d{1,15}$/.test(text)) {
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  }
  return Number(text);
}

/** The revision rules of a list or watch, checked. Upstream: ValidateListOptions. */
export function checkListOptions(params: URLSearchParams, isWatch: boolean): void {
  const errors: FieldCause[] = [];
  const match = params.get('resourceVersionMatch') ?? '';
  const sendInitial = params.has('sendInitialEvents');
  const forbid = (field: string, text: string): void => {
    errors.push({ reason: 'FieldValueForbidden', field, text: `Forbidden: ${text}` });
  };
  if (sendInitial && !isWatch) forbid('sendInitialEvents', 'sendInitialEvents is forbidden for list');
  if (isWatch && match !== '' && !sendInitial)
    forbid('resourceVersionMatch', 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided');
  if (isWatch && sendInitial && match !== 'NotOlderThan')
    forbid('resourceVersionMatch', 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
  if (!isWatch && match !== '') checkMatch(params, match, { errors, forbid });
  if (errors.length > 0) throw invalid({ group: META_GROUP, kind: 'ListOptions' }, '', errors);
}

function checkMatch(
  params: URLSearchParams,
  match: string,
  { errors, forbid }: { errors: FieldCause[]; forbid: (field: string, text: string) => void },
): void {
  const revision = params.get('resourceVersion') ?? '';
  if (revision === '')
    forbid('resourceVersionMatch', 'resourceVersionMatch is forbidden unless resourceVersion is provided');
  if ((params.get('continue') ?? '') !== '')
    forbid('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided');
  if (match !== 'Exact' && match !== 'NotOlderThan')
    errors.push(unsupported('resourceVersionMatch', match, ['Exact', 'NotOlderThan', '']));
  if (match === 'Exact' && revision === '0')
    forbid('resourceVersionMatch', 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
}

/** Delete options in the query, where the body has none. */
export function deleteOptionsOfQuery(params: URLSearchParams): DeleteOptions {
  const grace = int64Param(params, 'gracePeriodSeconds');
  const policy = params.get('propagationPolicy');
  const orphan = params.get('orphanDependents');
  return {
    ...(grace === undefined ? {} : { gracePeriodSeconds: grace }),
    ...(policy === null || policy === '' ? {} : { propagationPolicy: policy }),
    ...(orphan === null ? {} : { orphanDependents: isTrue(orphan) }),
    ...(params.has('dryRun') ? { dryRun: params.getAll('dryRun') } : {}),
  };
}

/** Throws 422 for contradictory or unknown delete options. */
export function checkDeleteOptions(options: DeleteOptions): void {
  const errors: FieldCause[] = [];
  const { propagationPolicy: policy, orphanDependents, dryRun = [] } = options;
  if (policy !== undefined && orphanDependents !== undefined) {
    const text = `Invalid value: ${JSON.stringify(policy)}: orphanDependents and deletionPropagation cannot be both set`;
    errors.push({ reason: 'FieldValueInvalid', field: 'propagationPolicy', text });
  }
  if (policy !== undefined && !['Background', 'Foreground', 'Orphan'].includes(policy)) {
    errors.push(unsupported('propagationPolicy', policy, ['Foreground', 'Background', 'Orphan', 'nil']));
  }
  appendAll(errors, wrongDryRun(dryRun));
  if (errors.length > 0) throw invalid({ group: META_GROUP, kind: 'DeleteOptions' }, '', errors);
}
