// The common format of all files of facts: sections of indented entries. tools/facts/README.md describes them.

/** A line of a file of facts, split into words. */
export interface FactLine {
  readonly words: readonly string[];
  /** The line as written, for values that may contain spaces. */
  readonly text: string;
  /** File and line number, for errors. */
  readonly place: string;
}

/** A heading and the entries below it. */
export interface FactSection {
  readonly heading: FactLine;
  readonly entries: readonly FactLine[];
}

/** Splits a file into its sections. @throws Error for an entry before the first heading */
export function readSections(text: string, file: string): FactSection[] {
  const sections: { heading: FactLine; entries: FactLine[] }[] = [];
  for (const [index, raw] of text.split('\n').entries()) {
    const trimmed = raw.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    const line = { words: trimmed.split(/\s+/), text: trimmed, place: `${file}:${index + 1}` };
    if (!/^\s/.test(raw)) sections.push({ heading: line, entries: [] });
    else if (sections.length === 0) throw unreadable(line, 'no heading above it');
    else sections.at(-1)?.entries.push(line);
  }
  return sections;
}

/** The error for a line that violates the format. */
export function unreadable({ place, text }: FactLine, why: string): Error {
  return new Error(`${place}: ${why}: ${text}`);
}
