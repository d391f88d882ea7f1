/** How logs are shown: what the parameters of the address say, and what stands before each line. */
import type { LogLine } from './log-buffer.ts';
import type { LogSource } from './pod-logs.ts';

export interface LogSettings {
  /** '' for all. */
  readonly container: string;
  readonly previous: boolean;
  readonly wrap: boolean;
  readonly times: boolean;
  readonly query: string;
  /** Only lines with matches. */
  readonly only: boolean;
}

export function settingsOf(params: URLSearchParams): LogSettings {
  const query = params.get('q') ?? '';
  return {
    container: params.get('container') ?? '',
    previous: params.get('previous') === '1',
    wrap: params.get('wrap') !== '0',
    times: params.get('times') === '1',
    query,
    only: query !== '' && params.get('only') === '1',
  };
}

const LONGEST_NAME = 24;
/** Pages with less columns have shorter times and names. */
const NARROW = 80;

export interface Prefix {
  /** Columns it takes, the space behind it included. */
  readonly width: number;
  of(line: LogLine): string;
}

/** Where several logs are shown, lines begin with whose they are. */
export function prefixOf(
  sources: readonly LogSource[],
  { times, columns }: { readonly times: boolean; readonly columns: number },
): Prefix {
  const narrow = columns < NARROW;
  const longest = narrow ? 10 : LONGEST_NAME;
  const pods = new Set(sources.map(({ pod }) => pod)).size;
  const containers = new Set(sources.map(({ container }) => container)).size;
  const names = sources.map(({ pod, container }) => {
    if (pods > 1) return containers > 1 ? `${tail(pod)}/${container}` : tail(pod);
    return container;
  });
  const nameWidth =
    sources.length < 2
      ? 0
      : Math.min(
          longest,
          names.reduce((most, name) => Math.max(most, name.length), 0),
        );
  const timeWidth = times ? (narrow ? 12 : 24) : 0;
  const width = (nameWidth === 0 ? 0 : nameWidth + 1) + (timeWidth === 0 ? 0 : timeWidth + 1);
  return {
    width,
    of({ source, timeMs }) {
      const name = nameWidth === 0 ? '' : `${short(names[source] ?? '', nameWidth)} `;
      const time = timeWidth === 0 ? '' : `${timeText(timeMs, narrow).padEnd(timeWidth)} `;
      return time + name;
    },
  };
}

/** What differs between pods of a workload stands at the end of their names. */
function tail(pod: string): string {
  return pod.split('-').slice(-2).join('-');
}

function short(name: string, width: number): string {
  return (name.length > width ? `…${name.slice(1 - width)}` : name).padEnd(width);
}

function timeText(timeMs: number, narrow: boolean): string {
  if (timeMs === 0) return '';
  const text = new Date(timeMs).toISOString();
  return narrow ? text.slice(11, 23) : text;
}
