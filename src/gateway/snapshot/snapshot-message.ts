/**
 * A snapshot as it goes to the data plane: tables of what is shared, and numbers that refer to them. It is written in pieces,
 * between which others have their turn.
 */
import type { Steps } from '../../base/steps.ts';
import type { Backend, Listener, Passthrough, Route, RouteMatch, ServedCertificate, Snapshot } from './snapshot.ts';
import type { Certificate, PlannedPassthrough, RouteRule, SnapshotPlan } from './snapshot-plan.ts';

/** Numbers of a rule, a match and a list of hosts. */
type RouteEntry = readonly [rule: number, match: number, hosts: number];

/** Numbers of a passthrough and a list of hosts. */
type PassthroughEntry = readonly [passthrough: number, hosts: number];

interface CertificateEntry {
  readonly certificate: number;
  readonly names: readonly string[];
  readonly withOwnNames: boolean;
}

/** The JSON of a snapshot. */
export interface SnapshotTables {
  readonly rules: readonly RouteRule[];
  readonly matches: readonly RouteMatch[];
  readonly hosts: readonly (readonly string[])[];
  readonly certificates: readonly Certificate[];
  readonly passthrough: readonly PlannedPassthrough['rule'][];
  readonly backends: readonly (readonly [key: string, backend: Backend])[];
  readonly listeners: readonly {
    readonly port: number;
    readonly isTls: boolean;
    readonly routes: readonly RouteEntry[];
    readonly certificates: readonly CertificateEntry[];
    /** Absent in messages of earlier versions, as `terminated` is. */
    readonly passthrough?: readonly PassthroughEntry[];
    readonly terminated?: readonly string[];
  }[];
}

/** The JSON of `SnapshotTables`. A step for each piece. */
export function* writeSnapshot({ listeners, backends }: SnapshotPlan): Steps<readonly string[]> {
  const pieces: string[] = [];
  const [rules, matches, hosts] = [new Table<RouteRule>(), new Table<RouteMatch>(), new Table<readonly string[]>()];
  const [certificates, passed] = [new Table<Certificate>(), new Table<PlannedPassthrough['rule']>()];
  let separator = '{"listeners":[';
  for (const { port, isTls, routes, certificates: own, passthrough = [], terminated = [] } of listeners) {
    pieces.push(`${separator}{"port":${port},"isTls":${isTls},"routes":`);
    separator = ',';
    yield* writeList(pieces, routes, ({ rule, match, hosts: names }) => [
      rules.numberOf(rule),
      matches.numberOf(match),
      hosts.numberOf(names),
    ]);
    pieces.push(',"certificates":');
    yield* writeList(pieces, own, ({ certificate, names, withOwnNames }) => ({
      certificate: certificates.numberOf(certificate),
      names,
      withOwnNames,
    }));
    if (passthrough.length > 0) {
      pieces.push(',"passthrough":');
      yield* writeList(pieces, passthrough, ({ rule, hosts: names }) => [passed.numberOf(rule), hosts.numberOf(names)]);
      pieces.push(',"terminated":');
      yield* writeList(pieces, terminated);
    }
    pieces.push('}');
  }
  pieces.push(listeners.length === 0 ? '{"listeners":[],"rules":' : '],"rules":');
  yield* writeList(pieces, rules.all());
  pieces.push(',"matches":');
  yield* writeList(pieces, matches.all());
  pieces.push(',"hosts":');
  yield* writeList(pieces, hosts.all());
  pieces.push(',"certificates":');
  yield* writeList(pieces, certificates.all());
  pieces.push(',"passthrough":');
  yield* writeList(pieces, passed.all());
  pieces.push(',"backends":');
  yield* writeList(pieces, Object.entries(backends));
  pieces.push('}');
  return pieces;
}

/** What the data plane serves. Routes of one rule share its object. */
export function readSnapshot(tables: SnapshotTables): Snapshot {
  return {
    backends: Object.fromEntries(tables.backends),
    listeners: tables.listeners.map(({ port, isTls, routes, certificates, passthrough, terminated }): Listener => ({
      port,
      isTls,
      routes: routes.flatMap((entry) => routesOf(entry, tables)),
      certificates: certificatesOf(certificates, tables.certificates),
      passthrough: passthrough?.flatMap((entry) => passthroughOf(entry, tables)),
      terminated,
    })),
  };
}

function routesOf([rule, match, hosts]: RouteEntry, tables: SnapshotTables): Route[] {
  return tables.hosts[hosts]!.map((host) => ({ ...tables.rules[rule]!, match: tables.matches[match]!, host }));
}

function passthroughOf([rule, hosts]: PassthroughEntry, tables: SnapshotTables): Passthrough[] {
  return tables.hosts[hosts]!.map((host) => ({ ...tables.passthrough[rule]!, host }));
}

/** Each certificate once, with the names that no earlier one has claimed. */
function certificatesOf(
  entries: readonly CertificateEntry[],
  all: readonly Certificate[],
): readonly ServedCertificate[] {
  const claimed = new Set<string>();
  const withOwn = new Set<number>();
  const served = new Map<number, string[]>();
  for (const { certificate, names, withOwnNames } of entries) {
    const own = withOwnNames && !withOwn.has(certificate) ? all[certificate]!.ownNames : [];
    if (withOwnNames) withOwn.add(certificate);
    const list = served.get(certificate) ?? [];
    served.set(certificate, list);
    for (const name of [...names, ...own].map((one) => one.toLowerCase())) {
      if (claimed.has(name)) continue;
      claimed.add(name);
      list.push(name);
    }
  }
  return [...served].map(([certificate, names]) => {
    const { certPem, keyPem } = all[certificate]!;
    return { names, certPem, keyPem };
  });
}

/** Numbers objects in the order in which they come. */
class Table<T extends object> {
  readonly #numbers = new Map<T, number>();

  numberOf(value: T): number {
    const known = this.#numbers.get(value);
    if (known !== undefined) return known;
    this.#numbers.set(value, this.#numbers.size);
    return this.#numbers.size - 1;
  }

  all(): readonly T[] {
    return [...this.#numbers.keys()];
  }
}

const PIECE_LENGTH = 64 * 1024;

/** A list in pieces of some length; a step after each. */
function* writeList<T>(
  pieces: string[],
  list: readonly T[],
  convert: (value: T) => unknown = (value) => value,
): Steps<void> {
  let piece = '[';
  let isFirst = true;
  for (const value of list) {
    piece += isFirst ? JSON.stringify(convert(value)) : `,${JSON.stringify(convert(value))}`;
    isFirst = false;
    if (piece.length < PIECE_LENGTH) continue;
    pieces.push(piece);
    piece = '';
    yield;
  }
  pieces.push(`${piece}]`);
}
