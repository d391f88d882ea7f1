/** Parses the output of `ls -l` of any image. */

export interface FileEntry {
  readonly name: string;
  readonly type: 'folder' | 'file' | 'link' | 'other';
  /** The target of a symbolic link. */
  readonly target: string;
  /** The size in bytes; undefined for a device. */
  readonly size: number | undefined;
  /** The mode in the form `rwxr-xr-x`. */
  readonly mode: string;
  readonly owner: string;
  /** The time as the container's `ls` prints it. */
  readonly modified: string;
}

/** Mode, links, owner, group, size or device numbers, a date in the format of GNU or busybox, name. */
const LINE =
  /^([-dlbcpsD?])(\S{9})\S*\s+\d+\s+(\S+)\s+(\S+)\s+(?:\d+,\s*\d+|(\d+))\s+(\d{4}-\d\d-\d\d[ T][\d:.]+(?: [+-]\d{4})?|[A-Za-z]{3}\s+\d+\s+[\d:]+|\d+\s+[A-Za-z]{3}\s+[\d:]+)\s(.+)$/;

const TYPES: Readonly<Record<string, FileEntry['type']>> = { d: 'folder', '-': 'file', l: 'link' };

/** Folders first, then by name. Lines that are no entries (`total 8`) are skipped. */
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

/** The path of an entry, or of the parent folder for `..`. */
export function below(folder: string, name: string): string {
  const parts = folder.split('/').filter((part) => part !== '' && part !== '.');
  if (name === '..') parts.pop();
  else parts.push(name);
  return `/${parts.join('/')}`;
}
