/**
 * The text without the given characters at its end. Linear: a pattern such as `/=+$/` looks for an end at each of the
 * characters, which takes the square of their number when something follows them.
 */
export function trimEndOf(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text[end - 1]!)) end--;
  return text.slice(0, end);
}
