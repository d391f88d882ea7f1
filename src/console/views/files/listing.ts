/** Entries of a folder, read from what `ls -l` prints in any image. */

export interface FileEntry {
  readonly name: string;
  readonly type: 'folder' | 'file' | 'link' | 'other';
  /** Where a link leads. */
  readonly target: string;
  /** Bytes; undefined: a device. */
  readonly size: number | undefined;
  /** `rwxr-xr-x`. */
  readonly mode: string;
  readonly owner: string;
  /** As the container writes it. */
  readonly modified: string;
}

/** Mode, links, owner, group, size or device numbers, a date as GNU or busybox write it, name. */
const LINE =
  /^([-dlbcpsD?])(\S{9})\S*\s+\d+\s+(\S+)\s+(\S+)\s+(?:\d+,\s*\d+|(\d+))\s+(\d{4}-\d\d-\d\d[ T][\d:.]+(?: [+-]\d{4})?|[A-Za-z]{3}\s+\d+\s+[\d:]+|\d+\s+[A-Za-z]{3}\s+[\d:]+)\s(.+)$/;

const TYPES: Readonly<Record<string, FileEntry['type']>> = { d: 'folder', '-': 'file', l: 'link' };

/** Folders first, then by name. Lines that are no entries (`total 8`) are left out. */
export function entriesOf(text: string): readonly FileEntry[] {
  const entries = text.split('\n').flatMap((line) => entryOf(line) ?? []);
  return entries.sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
}

function rank({ type }: FileEntry): number {
  return type === 'folder' ? 0 : 1;
}

function entryOf(line: string): FileEntry | undefined {
  const match = LINE.exec(line);
  if (match === null) return undefined;
  const [, letter = '', mode = '', user = '', group = '', size, modified = '', rest = ''] = match;
  const type = TYPES[letter] ?? 'other';
  const arrow = type === 'link' ? rest.indexOf(' -> ') : -1;
  const name = arrow < 0 ? rest : rest.slice(0, arrow);
  if (name === '.' || name === '..') return undefined;
  return {
    name,
    type,
    target: arrow < 0 ? '' : rest.slice(arrow + 4),
    size: size === undefined ? undefined : Number(size),
    mode,
    owner: `${user}:${group}`,
    modified,
  };
}

/** The path of an entry, or of the folder above for `..`. */
export function below(folder: string, name: string): string {
  const parts = folder.split('/').filter((part) => part !== '' && part !== '.');
  if (name === '..') parts.pop();
  else parts.push(name);
  return `/${parts.join('/')}`;
}
