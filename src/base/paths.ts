/** Comparing absolute paths that have no `.`, `..` or doubled slashes. */

/** Whether the path is the folder, or anything below it. */
export function isAtOrBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}
