/** What becomes of a field of a pod's spec. */

/** `honoured`: as upstream; `in part`: as the note says; `refused`: the pod is, with what the note says; `no effect`: nothing here could act on it. */
export type FieldState = 'honoured' | 'in part' | 'refused' | 'no effect';

/** State, and what is to be said besides. */
export type FieldRow = readonly [state: FieldState, note: string];

/** Rows by path: `[]` the items of a list, `{}` the values of a map. A row holds for everything below its path. */
export type FieldRows = Readonly<Record<string, FieldRow>>;
