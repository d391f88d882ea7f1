/** Types of the rows of warnings. */

/** An object to create, or the old and the new object of an update. */
export interface WarningRow {
  readonly path: string;
  readonly object: {
    readonly [field: string]: unknown;
    readonly metadata: { readonly name: string; readonly [field: string]: unknown };
  };
  /** The object before the update. */
  readonly old?: WarningRow['object'];
  readonly warnings: readonly string[];
}

export const CORE = '/api/v1/namespaces/default';
export const plainContainer = { name: 'c', image: 'i' };
export const labels = { app: 'web' };
export const OLD_LABEL = 'beta.kubernetes.io/os';
export const USE_NEW_LABEL = 'deprecated since v1.14; use "kubernetes.io/os" instead';
export const oldTerm = { matchExpressions: [{ key: OLD_LABEL, operator: 'In', values: ['linux'] }] };
export const NAME_RULE = '[must not contain dots]';
