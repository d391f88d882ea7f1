/** How a field of a pod's spec is treated. */

/**
 * `honoured`: as upstream; `in part`: as the note says; `refused`: the pod is rejected, as the note says; `no
 * effect`: nothing here uses it.
 */
export type FieldState = 'honoured' | 'in part' | 'refused' | 'no effect';

/** A state and a note. */
export type FieldRow = readonly [state: FieldState, note: string];

/**
 * Rows by path: `[]` stands for the items of a list, `{}` for the values of a map. A row applies to everything below
 * its path.
 */
export type FieldRows = Readonly<Record<string, FieldRow>>;
