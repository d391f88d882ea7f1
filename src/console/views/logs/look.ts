/** How logs are shown, by the parameters of the address, and the text before each line. */
import type { LogLine } from './log-buffer.ts';
import type { LogSource } from './pod-logs.ts';

export interface LogSettings {
  /** '' for all containers. */
  readonly container: string;
  readonly previous: boolean;
  readonly wrap: boolean;
  readonly times: boolean;
  readonly query: string;
  /** Only lines with matches are shown. */
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
/** Narrower panes have shorter times and names. */
const NARROW = 80;

export interface Prefix {
  /** The width in columns, including the space after it. */
  readonly width: number;
  of(line: LogLine): string;
}

/** The text before a line; with several logs it names the log. */
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

/** The end of a pod's name, in which the pods of a workload differ. */
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
