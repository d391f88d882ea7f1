/** A server's table as text. Upstream: kubectl's table printer. Pure. */
import type { ObjectMeta, Table, TableRow } from '../../api/gen/meta-v1.ts';
import { columns } from '../columns.ts';

interface TableStyle {
  /** Whether columns for wide output are included. */
  readonly isWide: boolean;
  readonly showsNamespaces: boolean;
}

/** The pages of one list below one head; '' without rows. */
export function tableText(pages: readonly Table[], { isWide, showsNamespaces }: TableStyle): string {
  const definitions = pages[0]?.columnDefinitions ?? [];
  const shown = definitions.flatMap(({ priority }, index) => (isWide || priority === 0 ? [index] : []));
  const head = shown.map((index) => definitions[index]!.name.toUpperCase());
  const rows = pages.flatMap((page) => page.rows ?? []);
  if (rows.length === 0) return '';
  const lines = rows.map((row) => shown.map((index) => cellText(row.cells[index])));
  if (!showsNamespaces) return columns([head, ...lines]);
  return columns([['NAMESPACE', ...head], ...lines.map((line, index) => [namespaceOf(rows[index]!), ...line])]);
}

function namespaceOf({ object }: TableRow): string {
  const { namespace = '' } = (object as { readonly metadata: ObjectMeta }).metadata;
  return namespace;
}

/**
 * The first line of a cell. Control characters are escaped, since the text comes from others and reaches a terminal.
 * Upstream: printers.WriteEscaped.
 */
function cellText(cell: unknown): string {
  if (cell === null || cell === undefined) return '';
  const [first = '', ...more] = (typeof cell === 'string' ? cell : JSON.stringify(cell)).split(/[\f\n\r]/);
  return first.replaceAll(/\p{Cc}/gu, controlText) + (more.length > 0 ? '...' : '');
}

function controlText(control: string): string {
  const code = control.charCodeAt(0);
  return code < 0x20 ? `^${String.fromCharCode(code + 0x40)}` : `\\x${code.toString(16)}`;
}
