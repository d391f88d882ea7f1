/** Selects the lines of Keelson's log by component, and formats them. Pure. */

export interface LogSelection {
  /** With the parts of it (`kubelet` has `kubelet.volumes`); undefined: all. */
  readonly component: string | undefined;
  /** Otherwise the lines as they are. */
  readonly asText: boolean;
}

/** A line as it is shown; undefined when it is another component's. Adds the component to those seen. */
export function logLineText(line: string, selection: LogSelection, seen: Set<string>): string | undefined {
  const entry = entryOf(line);
  if (entry === undefined) return selection.component === undefined ? line : undefined;
  const { time, level, component, msg, ...fields } = entry;
  const source = typeof component === 'string' ? component : 'keelson';
  seen.add(source.split('.')[0] ?? source);
  const wanted = selection.component;
  if (wanted !== undefined && source !== wanted && !source.startsWith(`${wanted}.`)) return undefined;
  if (!selection.asText) return line;
  const rest = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return [String(time), String(level).padEnd(5), `${source}:`, String(msg), ...rest].join(' ');
}

/** Undefined for other text than a log entry, such as the runtime's. */
function entryOf(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const entry = JSON.parse(line) as Record<string, unknown>;
    return typeof entry['msg'] === 'string' ? entry : undefined;
  } catch {
    return undefined;
  }
}
