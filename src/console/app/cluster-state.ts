/** The page's state of the cluster: its kinds, its namespaces, and the user's rights. */
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

/** Names of all namespaces; undefined when the user may not list them. */
export const namespaces = signal<readonly string[] | undefined>(undefined);

/** The user's rights in all namespaces, and in the selected namespace. */
const everywhere = signal<Access | undefined>(undefined);
const here = signal<Access | undefined>(undefined);

/** Whether the user may do this to objects of a kind in the selected namespace. False until the rules are known. */
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

/** Kinds that the user may list in the selected namespace. */
export const listable = computed(() => kinds.value.filter((kind) => kind.verbs.includes('list') && may('list', kind)));

/** The kind with this id, when it can be listed in the selected namespace. */
export function listableKind(id: string): Kind | undefined {
  return listable.value.find((kind) => kindId(kind) === id);
}

/** The kind that a word names. */
export function kindNamed(word: string): Kind | undefined {
  return findKind(kinds.value, word);
}

/** Selects the last used namespace for users who may not list a kind in all namespaces. */
export function chooseNamespace(kind: Kind): void {
  if (!kind.namespaced || namespace.peek() !== '' || may('list', kind)) return;
  const last = readSetting('namespace') ?? '';
  if (namespaces.peek() === undefined && last !== '') setParams({ ns: last });
}

/** Keeps this state current while a user is signed in. */
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

/** The views show the server's errors in place of the data. */
function ignoreApiError(error: unknown): void {
  if (!(error instanceof ApiError)) throw error;
}
