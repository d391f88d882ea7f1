// Query parameters, known and unknown, with valid and invalid values.
import { chance, pick, type Random, several } from '../draw.ts';
import { hostileStrings } from '../values/hostile.ts';

/** Values of each parameter. */
export type ParameterTable = Readonly<Record<string, readonly string[]>>;

const common: ParameterTable = {
  pretty: ['true', '1', 'x'],
  fieldManager: ['m', 'a'.repeat(129), 'é', '\u0001'],
  fieldValidation: ['Strict', 'Warn', 'Ignore', 'x'],
  dryRun: ['All', '', 'x'],
  force: ['true', 'x'],
  labelSelector: [
    'app=a',
    'app in (a,b)',
    '!app',
    'a=b=c',
    'app in (',
    'app in (a',
    ',',
    '==',
    'a>1',
    'a>b',
    'x/y/z=1',
    '(',
    'a notin ()',
    `a in (${'b,'.repeat(3000)})`,
    'app=a,'.repeat(2000),
    '__proto__',
    'constructor=a',
  ],
  fieldSelector: [
    'metadata.name=fuzz-a',
    'metadata.name!=a,metadata.namespace=fuzz',
    'spec.nodeName=',
    'a',
    'a=b',
    '__proto__=a',
    'status.phase=Running\\,',
    '\\',
    'metadata.name==a',
    'metadata.name=a,'.repeat(2000),
  ],
  limit: ['1', '0', '-1', '9223372036854775808', '1e3', 'x'],
  continue: [
    'x',
    'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJcdTAwMDAifQ',
    'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiLi4vIn0=',
    'e30',
    'bnVsbA',
    '%',
  ],
  resourceVersion: ['0', '1', '-1', '99999999999', '18446744073709551616', 'x', '01', ' 1'],
  resourceVersionMatch: ['Exact', 'NotOlderThan', 'x'],
  timeoutSeconds: ['0', '1', '-1', '1e9', 'x', '9223372036854775808'],
  timeout: ['1s', '0s', '-1s', '1ns', '34h', 'x', '1'],
  watch: ['true', '1', '0', 'false', '', 'x'],
  allowWatchBookmarks: ['true', 'x'],
  sendInitialEvents: ['true', 'false', 'x'],
  gracePeriodSeconds: ['0', '1', '-1', 'x', '9223372036854775808'],
  propagationPolicy: ['Foreground', 'Background', 'Orphan', 'x'],
  orphanDependents: ['true', 'x'],
  ignoreStoreReadErrorWithClusterBreakingPotential: ['true', 'false', 'x'],
  includeObject: ['None', 'Metadata', 'Object', 'x'],
  command: ['sh', '', '\0', '-c'],
  container: ['c', 'absent', '__proto__'],
  stdin: ['true', 'x'],
  stdout: ['true', 'false'],
  stderr: ['true', '1'],
  tty: ['true'],
  ports: ['80', '0', '-1', '65536', 'x', '80,81'],
  follow: ['true', 'x'],
  previous: ['true'],
  sinceSeconds: ['1', '-1', '0', 'x', '9223372036854775807'],
  sinceTime: ['2026-01-01T00:00:00Z', 'x', '0000-00-00T00:00:00Z'],
  tailLines: ['1', '-1', 'x', '9223372036854775807'],
  limitBytes: ['1', '0', '-1'],
  stream: ['All', 'Stdout', 'x'],
  path: ['/a', '../..', '//', '\0'],
  exact: ['true'],
  export: ['true'],
};

const percentEncoded = (text: string): string => {
  try {
    return encodeURIComponent(text);
  } catch {
    return '%ED%A0%80'; // a lone surrogate
  }
};

function parameter(random: Random, table: ParameterTable): string {
  const name = chance(random, 0.93) ? pick(random, Object.keys(table)) : pick(random, hostileStrings);
  const values = Object.hasOwn(table, name) ? table[name] : undefined;
  const value = values !== undefined && chance(random, 0.85) ? pick(random, values) : pick(random, hostileStrings);
  return chance(random, 0.04) ? percentEncoded(name) : `${percentEncoded(name)}=${percentEncoded(value)}`;
}

/** A query with its question mark, or an empty text; `own` are parameters of this request. */
export function queryOf(random: Random, own: readonly string[] = [], table = common): string {
  const rest = chance(random, 0.5) ? [] : Array.from({ length: 1 + random.int(3) }, () => parameter(random, table));
  const raw = chance(random, 0.02)
    ? several(random, 2, ['&&', '%', '=', 'a=%zz', '&=&', ';', '?', '%00', 'a[]=b', '+'])
    : [];
  const all = [...own, ...rest, ...raw];
  return all.length === 0 ? '' : `?${all.join('&')}`;
}
