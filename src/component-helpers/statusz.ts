/**
 * `/statusz` of every component: its name, versions, start time and paths, as text for people or as an object when
 * the request names group, version and kind. Upstream: apiserver/pkg/server/statusz (ComponentStatusz). Differs: CBOR
 * is not offered.
 */
import { type AcceptClause, parseAccept } from '../api/accept.ts';
import { stringifyYaml } from '../api/codec/yaml-writer.ts';
import { dateOf, formatTime } from '../api/time.ts';
import { KUBERNETES_VERSION } from '../base/version.ts';

/** The content of the page. */
export interface StatuszPage {
  /** `kube-scheduler`. */
  readonly component: string;
  readonly startedMs: number;
  readonly nowMs: number;
  /** Everything it serves. */
  readonly paths: readonly string[];
}

export interface StatuszAnswer {
  readonly status: 200 | 406;
  readonly contentType: string;
  readonly body: string;
}

/** The delimiter changes every second, to keep programs from parsing the text. */
const DELIMITERS = [':', ': ', '=', ' '] as const;
const NOT_FOR_DEBUGGING = new Set(['/apis', '/api', '/openid', '/openapi', '/.well-known']);
const VERSIONS = new Set(['v1alpha1', 'v1beta1']);
const TEXT_TYPES = new Set(['text/plain', 'text/*', '*/*']);
const WRITERS: Readonly<Record<string, (object: object) => string>> = {
  'application/json': (object) => JSON.stringify(object),
  'application/yaml': (object) => stringifyYaml(object),
};

/** Answers a request with this Accept header. */
export function statusz(accept: string | undefined, page: StatuszPage): StatuszAnswer {
  if (accept === undefined || accept.trim() === '') return textOf(page);
  for (const clause of parseAccept(accept)) {
    if (TEXT_TYPES.has(clause.type) && clause.params['as'] === undefined) return textOf(page);
    const write = WRITERS[clause.type];
    const version = structuredVersion(clause);
    if (write === undefined || version === undefined) continue;
    return { status: 200, contentType: clause.type, body: write(objectOf(page, version)) };
  }
  const types = [...Object.keys(WRITERS), 'text/plain'].join(', ');
  const body = `only the following media types are accepted: ${types}`;
  return { status: 406, contentType: 'text/plain; charset=utf-8', body };
}

/** The requested version; all three parts must be named. */
function structuredVersion({ params }: AcceptClause): string | undefined {
  const { g, v = '', as } = params;
  return g === 'config.k8s.io' && as === 'Statusz' && VERSIONS.has(v) ? v : undefined;
}

interface Facts {
  readonly uptimeSeconds: number;
  readonly goVersion: string;
  readonly binaryVersion: string;
  readonly emulationVersion: string;
  readonly paths: readonly string[];
}

function factsOf({ startedMs, nowMs, paths }: StatuszPage): Facts {
  const binaryVersion = KUBERNETES_VERSION.slice(1);
  const folders = paths.map((path) => `/${path.split('/')[1] ?? ''}`);
  return {
    uptimeSeconds: Math.max(0, Math.floor((nowMs - startedMs) / 1000)),
    goVersion: 'none',
    binaryVersion,
    emulationVersion: binaryVersion.split('.').slice(0, 2).join('.'),
    paths: [...new Set(folders)].filter((folder) => folder !== '/' && !NOT_FOR_DEBUGGING.has(folder)).toSorted(),
  };
}

function objectOf(page: StatuszPage, version: string): object {
  return {
    kind: 'Statusz',
    apiVersion: `config.k8s.io/${version}`,
    metadata: { name: page.component },
    startTime: formatTime(page.startedMs),
    ...factsOf(page),
  };
}

function textOf(page: StatuszPage): StatuszAnswer {
  const { uptimeSeconds, goVersion, binaryVersion, emulationVersion, paths } = factsOf(page);
  const delimiter = DELIMITERS[uptimeSeconds % DELIMITERS.length]!;
  const two = (count: number): string => String(count % 60).padStart(2, '0');
  const hours = Math.floor(uptimeSeconds / 3600);
  const lines: readonly [name: string, value: string][] = [
    ['Started', unixDate(page.startedMs)],
    ['Up', `${hours} hr ${two(Math.floor(uptimeSeconds / 60))} min ${two(uptimeSeconds)} sec`],
    ['Go version', goVersion],
    ['Binary version', binaryVersion],
    ['Emulation version', emulationVersion],
    ['Paths', paths.join(' ')],
  ];
  const body = [
    '',
    `${page.component} statusz`,
    'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.',
    '',
    ...lines.map(([name, value]) => `${name}${delimiter} ${value}`),
    '',
  ].join('\n');
  return { status: 200, contentType: 'text/plain; charset=utf-8', body };
}

/** `Wed Oct 16 21:03:43 UTC 2024`, from `Wed, 16 Oct 2024 21:03:43 GMT`. */
function unixDate(ms: number): string {
  const [weekday = '', day = '', month = '', year = '', time = ''] = dateOf(ms).toUTCString().split(' ');
  return `${weekday.slice(0, 3)} ${month} ${String(Number(day)).padStart(2)} ${time} UTC ${year}`;
}
