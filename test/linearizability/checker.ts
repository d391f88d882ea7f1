/**
 * Checks whether a history is linearizable: it could have come from one register per key that performs one operation at a time,
 * each at a moment between its beginning and its end. Revisions order the writes, so one pass is enough: each operation takes
 * effect at the earliest possible revision, not before that of any operation that ended before it began, and no write takes
 * effect before it began.
 */
import type { Change, History, Operation, Seen, Timed } from './history.ts';

type Write = Extract<Operation, { kind: 'write' }>;

interface Version extends Change {
  /** The time at which its write began. */
  readonly begun: number;
}

/** The violations, one line each; empty for a linearizable history. */
export function check(history: History): string[] {
  const problems: string[] = [];
  const writes = history.operations.filter(
    (one): one is Timed & { operation: Write } => one.operation.kind === 'write',
  );
  const log = writes
    .map(({ operation: { revision, key, value }, begun }): Version => ({ revision, key, value, begun }))
    .sort((a, b) => a.revision - b.revision);
  for (let at = 1; at < log.length; at++)
    if (log[at]!.revision === log[at - 1]!.revision) problems.push(`two writes have revision ${log[at]!.revision}`);
  checkWatches(history, log, problems);
  checkOrder(history, createModel(log), problems);
  return problems;
}

/** Each watch must deliver every change after its start once, in order, and no other. */
function checkWatches({ watches }: History, log: readonly Version[], problems: string[]): void {
  for (const [index, { after, changes }] of watches.entries()) {
    const wanted = log.filter(({ revision }) => revision > after);
    const text = ({ revision, key, value }: Change): string => `${revision} ${key}=${value ?? 'deleted'}`;
    const length = Math.max(wanted.length, changes.length);
    for (let at = 0; at < length; at++) {
      const [want, got] = [wanted[at], changes[at]].map((change) => (change === undefined ? 'nothing' : text(change)));
      if (want === got) continue;
      problems.push(`watch ${index} after ${after}: change ${at} is ${got}, not ${want}`);
      break;
    }
  }
}

interface Model {
  /** The versions of a key, in order. */
  versions(key: string): readonly Version[];
  /** The last version of a key at or before a revision. */
  at(key: string, revision: number): Version | undefined;
  /** The latest time at which one of the writes up to a revision began. */
  begunUpTo(revision: number): number;
  readonly keys: readonly string[];
}

function createModel(log: readonly Version[]): Model {
  const byKey = Map.groupBy(log, ({ key }) => key);
  const latestBegun: number[] = [];
  for (const { begun } of log) latestBegun.push(Math.max(begun, latestBegun.at(-1) ?? 0));
  return {
    versions: (key) => byKey.get(key) ?? [],
    at: (key, revision) => (byKey.get(key) ?? []).findLast((version) => version.revision <= revision),
    begunUpTo: (revision) => latestBegun[countUpTo(log, revision) - 1] ?? 0,
    keys: [...byKey.keys()],
  };
}

function countUpTo(log: readonly Version[], revision: number): number {
  let low = 0;
  let high = log.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (log[middle]!.revision <= revision) low = middle + 1;
    else high = middle;
  }
  return low;
}

function checkOrder({ operations }: History, model: Model, problems: string[]): void {
  const moments = operations.flatMap((one) => [
    { time: one.begun, one, begins: true },
    { time: one.ended, one, begins: false },
  ]);
  moments.sort((a, b) => a.time - b.time);
  const floors = new Map<Timed, number>();
  let floor = 0;
  for (const { one, begins } of moments) {
    if (begins) {
      floors.set(one, floor);
      continue;
    }
    const effect = effectOf(one, floors.get(one)!, model);
    if (typeof effect === 'string') problems.push(`${describe(one)}: ${effect}`);
    else floor = Math.max(floor, effect);
  }
}

/** The earliest revision at which the operation can have taken effect, or the reason why there is none. */
function effectOf(one: Timed, floor: number, model: Model): number | string {
  const { operation } = one;
  if (operation.kind === 'write') {
    const before = model.at(operation.key, operation.revision - 1);
    const was = before?.value === undefined ? 0 : before.revision;
    if (was !== operation.expect) return `it won against ${operation.expect}, but the key was at ${was}`;
    return operation.revision > floor ? operation.revision : `it got a revision before ${floor}, which was known`;
  }
  if (operation.kind === 'list') return effectOfList(one, operation, { floor, model });
  if (operation.kind === 'refused')
    return earliest(
      operation.key,
      (version) => (version?.value === undefined ? 0 : version.revision) !== operation.expect,
      {
        floor,
        model,
        ended: one.ended,
      },
    );
  const found = operation.kind === 'get' ? operation.found : operation.current;
  if (operation.kind === 'lost' && (found?.revision ?? 0) === operation.expect)
    return 'it lost against what it expected';
  return earliest(operation.key, (version) => isAsSeen(version, found), { floor, model, ended: one.ended });
}

function effectOfList(
  one: Timed,
  operation: Extract<Operation, { kind: 'list' }>,
  { floor, model }: { floor: number; model: Model },
): number | string {
  const { found, revision } = operation;
  if (revision < floor) return `it shows ${revision}, but ${floor} was known`;
  if (model.begunUpTo(revision) > one.ended) return 'it shows a write that had not begun';
  for (const key of model.keys) {
    const version = model.at(key, revision);
    const want = version?.value === undefined ? undefined : version;
    const got = found.get(key);
    if (want?.revision !== got?.revision || want?.value !== got?.value)
      return `at ${revision} ${key} is ${got?.revision ?? 'absent'}, not ${want?.revision ?? 'absent'}`;
  }
  return revision;
}

function isAsSeen(version: Version | undefined, found: Seen | undefined): boolean {
  if (found === undefined) return version?.value === undefined;
  return version?.revision === found.revision && version.value === found.value;
}

/** The earliest revision, not before `floor`, at which the key had the observed state. */
function earliest(
  key: string,
  fits: (version: Version | undefined) => boolean,
  { floor, model, ended }: { floor: number; model: Model; ended: number },
): number | string {
  const versions = model.versions(key);
  for (let at = -1; at < versions.length; at++) {
    const version = versions[at];
    const until = versions[at + 1]?.revision ?? Infinity;
    if (until <= floor || !fits(version)) continue;
    const effect = Math.max(floor, version?.revision ?? 0);
    return model.begunUpTo(effect) < ended ? effect : 'it saw a write that had not begun';
  }
  return `what it found of ${key} is older than ${floor}, which was known, or never was`;
}

function describe({ operation, begun, ended }: Timed): string {
  const { kind } = operation;
  return `${kind} ${'key' in operation ? operation.key : ''} [${begun}, ${ended}]`;
}
