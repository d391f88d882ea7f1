/** The text, or its first characters with an ellipsis: at most `max` characters. A copy, since a substring keeps all of its text in memory. */
export function clipText(text: string, max: number): string {
  return text.length <= max ? text : `${Buffer.from(text.slice(0, max - 1)).toString()}…`;
}
