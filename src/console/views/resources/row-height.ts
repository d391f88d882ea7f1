/** Pixels, as in `list.css`. */
export const ROW_HEIGHT = 28;
