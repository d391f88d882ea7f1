/** The layout of the head and of all rows of a list. */

/** In pixels, as in `list.css`. */
export const ROW_HEIGHT = 28;

/** Styles; the object stays the same while nothing changes. */
export interface RowLayout {
  readonly gridTemplateColumns: string;
  readonly width: string;
}
