/** The rows of a long list that are on the screen. */

export interface Viewport {
  readonly scrollTop: number;
  readonly height: number;
}

export interface RowWindow {
  /** The first row to draw, and the index after the last. */
  readonly first: number;
  readonly end: number;
}

/** Rows drawn beyond the edges, so that small scroll steps find them drawn. */
const MORE = 8;

export function rowWindow({ scrollTop, height }: Viewport, rowHeight: number, count: number): RowWindow {
  const first = Math.max(0, Math.min(Math.floor(scrollTop / rowHeight), count) - MORE);
  const end = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + MORE);
  return { first, end: Math.max(first, end) };
}

/** The scroll position nearest to the current one at which a row is completely visible. */
export function scrollTo(index: number, { scrollTop, height }: Viewport, rowHeight: number): number {
  const top = index * rowHeight;
  if (top < scrollTop) return top;
  return top + rowHeight > scrollTop + height ? top + rowHeight - height : scrollTop;
}
