/** How the head and all rows of a list are laid out. */

/** Pixels, as in `list.css`. */
export const ROW_HEIGHT = 28;

/** Styles; the same object as long as nothing changes. */
export interface RowLayout {
  readonly gridTemplateColumns: string;
  readonly width: string;
}
