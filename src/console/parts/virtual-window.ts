/** Which rows of a long list are on the screen. */

export interface Viewport {
  readonly scrollTop: number;
  readonly height: number;
}

export interface RowWindow {
  /** The first row to be drawn, and the one behind the last. */
  readonly first: number;
  readonly end: number;
}

/** Rows beyond the edges, so that a step of scrolling finds them drawn. */
const MORE = 8;

export function rowWindow({ scrollTop, height }: Viewport, rowHeight: number, count: number): RowWindow {
  const first = Math.max(0, Math.min(Math.floor(scrollTop / rowHeight), count) - MORE);
  const end = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + MORE);
  return { first, end: Math.max(first, end) };
}

/** The scroll position at which a row is whole on the screen, as near to the present one as can be. */
export function scrollTo(index: number, { scrollTop, height }: Viewport, rowHeight: number): number {
  const top = index * rowHeight;
  if (top < scrollTop) return top;
  return top + rowHeight > scrollTop + height ? top + rowHeight - height : scrollTop;
}
