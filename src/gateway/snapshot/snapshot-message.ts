/**
 * The message that carries a snapshot to the data plane: tables of shared parts, and indices that refer to them. It is written in
 * pieces, between which other tasks run.
 */
import type { Steps } from '../../base/steps.ts';
import type { Backend, Passthrough, Route, RouteMatch, ServedCertificate, Snapshot } from './snapshot.ts';
import type { Certificate, PlannedPassthrough, RouteRule, SnapshotPlan } from './snapshot-plan.ts';

/** Indices of a rule, a match, a list of hosts, and the list of excepted hosts. */
type RouteEntry = readonly [rule: number, match: number, hosts: number, except?: number];

/** Indices of a passthrough and a list of hosts. */
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
    /** Absent in messages of earlier versions, like `terminated`. */
    readonly passthrough?: readonly PassthroughEntry[];
    readonly terminated?: readonly string[];
    readonly isTcp?: boolean;
  }[];
}

/** The JSON of `SnapshotTables`. One step for each piece. */
export function* writeSnapshot({ listeners, backends }: SnapshotPlan): Steps<readonly string[]> {
  const pieces: string[] = [];
  const [rules, matches, hosts] = [new Table<RouteRule>(), new Table<RouteMatch>(), new Table<readonly string[]>()];
  const [certificates, passed] = [new Table<Certificate>(), new Table<PlannedPassthrough['rule']>()];
  let separator = '{"listeners":[';
  for (const { port, isTls, isTcp, routes, certificates: own, passthrough = [], terminated = [] } of listeners) {
    pieces.push(`${separator}{"port":${port},"isTls":${isTls},${isTcp === true ? '"isTcp":true,' : ''}"routes":`);
    separator = ',';
    yield* writeList(pieces, routes, ({ rule, match, hosts: names, except }) => {
      const entry = [rules.numberOf(rule), matches.numberOf(match), hosts.numberOf(names)];
      return except === undefined ? entry : [...entry, hosts.numberOf(except)];
    });
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

/** The snapshot that the data plane serves. Routes of one rule share its object. */
export function readSnapshot(tables: SnapshotTables): Snapshot {
  return {
    backends: Object.fromEntries(tables.backends),
    listeners: tables.listeners.map(({ port, isTls, isTcp, routes, certificates, passthrough, terminated }) => ({
      port,
      isTls,
      isTcp,
      routes: routes.flatMap((entry) => routesOf(entry, tables)),
      certificates: certificatesOf(certificates, tables.certificates),
      passthrough: passthrough?.flatMap((entry) => passthroughOf(entry, tables)),
      terminated,
    })),
  };
}

function routesOf([rule, match, hosts, excepted]: RouteEntry, tables: SnapshotTables): Route[] {
  const except = excepted === undefined ? undefined : tables.hosts[excepted]!;
  return tables.hosts[hosts]!.map((host) => ({ ...tables.rules[rule]!, match: tables.matches[match]!, host, except }));
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

/** Numbers objects in the order in which they are added. */
class Table<T extends object> {
  readonly #numbers = new Map<T, number>();

  numberOf(value: T): number {
    const cached = this.#numbers.get(value);
    if (cached !== undefined) return cached;
    this.#numbers.set(value, this.#numbers.size);
    return this.#numbers.size - 1;
  }

  all(): readonly T[] {
    return [...this.#numbers.keys()];
  }
}

const PIECE_LENGTH = 64 * 1024;

/** A list in pieces of limited length; one step after each. */
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
