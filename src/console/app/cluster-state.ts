/** What the whole page knows of the cluster: its kinds, its namespaces, and what the user may do where. */
import { computed, effect, signal } from '@preact/signals';
import { type Access, accessIn, allows, allowsPath } from '../api/access.ts';
import { discoverKinds } from '../api/discovery.ts';
import { ApiError, sendJson } from '../api/http.ts';
import { findKind, type Kind, kindId } from '../api/kinds.ts';
import { untilAnswered } from '../api/patience.ts';
import { TABLE_TYPE, type Table } from '../api/table.ts';
import { namespace, setParams } from './router.ts';
import { session } from './session.ts';
import { readSetting, writeSetting } from './settings.ts';

export const kinds = signal<readonly Kind[]>([]);

/** Names of all namespaces; undefined: the user may not list them. */
export const namespaces = signal<readonly string[] | undefined>(undefined);

/** What the user may do everywhere, and in the namespace that is looked at. */
const everywhere = signal<Access | undefined>(undefined);
const here = signal<Access | undefined>(undefined);

/** Whether the user may do this to objects of a kind where the page looks. False until the rules are known. */
export function may(verb: string, kind: Kind, subresource = ''): boolean {
  const access = kind.namespaced && namespace.value !== '' ? here.value : everywhere.value;
  return access !== undefined && allows(access, { verb, kind, subresource });
}

/** Whether the user may do this on a path outside the resources. False until the rules are known. */
export function mayOnPath(verb: string, path: string): boolean {
  return everywhere.value !== undefined && allowsPath(everywhere.value, verb, path);
}

export function mayGetPath(path: string): boolean {
  return mayOnPath('get', path);
}

/** Kinds that can be listed where the page looks. */
export const listable = computed(() => kinds.value.filter((kind) => kind.verbs.includes('list') && may('list', kind)));

/** A kind by its id, if it can be listed where the page looks. */
export function listableKind(id: string): Kind | undefined {
  return listable.value.find((kind) => kindId(kind) === id);
}

/** The kind that a word means. */
export function kindNamed(word: string): Kind | undefined {
  return findKind(kinds.value, word);
}

/** Whoever may not list a kind in all namespaces begins in the one they were in last. */
export function chooseNamespace(kind: Kind): void {
  if (!kind.namespaced || namespace.peek() !== '' || may('list', kind)) return;
  const last = readSetting('namespace') ?? '';
  if (namespaces.peek() === undefined && last !== '') setParams({ ns: last });
}

/** Keeps the above true while somebody is signed in. */
export function followCluster(): void {
  effect(() => {
    if (session.value.kind !== 'signedIn') {
      kinds.value = [];
      namespaces.value = undefined;
      everywhere.value = undefined;
      return undefined;
    }
    const left = new AbortController();
    const read = <T>(ask: () => Promise<T>, take: (answer: T) => void): void => {
      void untilAnswered(ask, left.signal).then((answer) => {
        if (answer !== undefined && !left.signal.aborted) take(answer);
      });
    };
    read(discoverKinds, (found) => (kinds.value = found));
    read(readNamespaces, (names) => (namespaces.value = names));
    read(
      () => accessIn(''),
      (access) => (everywhere.value = access),
    );
    return () => left.abort();
  });
  effect(() => {
    const name = namespace.value;
    if (session.value.kind !== 'signedIn') return undefined;
    here.value = undefined;
    if (name !== '') writeSetting('namespace', name);
    const left = new AbortController();
    void untilAnswered(() => accessIn(name), left.signal).then((access) => {
      if (!left.signal.aborted) here.value = access;
    });
    return () => left.abort();
  });
}

export async function refreshKinds(): Promise<void> {
  await discoverKinds().then((found) => (kinds.value = found), ignoreApiError);
}

export async function refreshNamespaces(): Promise<void> {
  try {
    namespaces.value = await readNamespaces();
  } catch (error) {
    ignoreApiError(error);
    namespaces.value = undefined;
  }
}

async function readNamespaces(): Promise<readonly string[]> {
  const table = await sendJson<Table>('/api/v1/namespaces', { headers: { Accept: TABLE_TYPE } });
  return (table.rows ?? []).map(({ object }) => object.metadata.name).sort();
}

/** The server's refusals show where the data would stand. */
function ignoreApiError(error: unknown): void {
  if (!(error instanceof ApiError)) throw error;
}
