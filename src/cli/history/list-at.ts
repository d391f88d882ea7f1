/** Lists of a kind at an earlier time. The output has kubectl get's forms. */
import { stringifyYaml } from '../../api/codec/yaml-writer.ts';
import type { Table } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { apiVersionOf } from '../../api/resource-info.ts';
import { collectionPath } from '../../client/request-path.ts';
import { getPath, momentParam } from './get-history.ts';
import type { NamedKind } from './connect.ts';
import { tableText } from './table-text.ts';

export type ListOutput = 'table' | 'wide' | 'yaml' | 'json' | 'name';

export interface ListChoice {
  readonly at: string;
  readonly output: ListOutput;
  readonly allNamespaces: boolean;
  readonly labelSelector: string | undefined;
  readonly fieldSelector: string | undefined;
}

/** The printed text, and the server's warnings. */
export interface ListedText {
  readonly text: string;
  readonly warnings: readonly string[];
}

const TABLE_TYPE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const PAGE_LIMIT = 500;

interface ObjectList {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly KubernetesObject[];
}

/** Rejects with `UserError` for an invalid moment, or when the server records no history. */
export async function listTextAt(kind: NamedKind, choice: ListChoice): Promise<ListedText> {
  const { output, allNamespaces } = choice;
  if (output === 'table' || output === 'wide') {
    const { pages, warnings } = await pagesOf<Table>(kind, choice, TABLE_TYPE);
    const showsNamespaces = allNamespaces && kind.info.namespaced;
    return { text: tableText(pages, { isWide: output === 'wide', showsNamespaces }), warnings };
  }
  const { pages, warnings } = await pagesOf<ObjectList>(kind, choice, 'application/json');
  const items = pages.flatMap((page) => page.items);
  return { text: output === 'name' ? namesText(kind, items) : objectsText(kind, items, output), warnings };
}

/** All pages of the list, which show the same revision. */
async function pagesOf<T extends { readonly metadata: { readonly continue?: string } }>(
  { client, info, namespace, nowMs }: NamedKind,
  { at, allNamespaces, labelSelector, fieldSelector }: ListChoice,
  accept: string,
): Promise<{ readonly pages: readonly T[]; readonly warnings: readonly string[] }> {
  const path = collectionPath(info, allNamespaces ? undefined : namespace);
  const query = { at: momentParam(at, nowMs), labelSelector, fieldSelector, limit: PAGE_LIMIT };
  const pages: T[] = [];
  const all = new Set<string>();
  let next: string | undefined;
  do {
    const { answer, warnings } = await getPath<T>({ client, path }, { ...query, continue: next }, accept);
    pages.push(answer);
    for (const warning of warnings) all.add(warning);
    next = answer.metadata.continue;
  } while (next !== undefined && next !== '');
  return { pages, warnings: [...all] };
}

function namesText({ info }: NamedKind, items: readonly KubernetesObject[]): string {
  const prefix = info.group === '' ? info.kind.toLowerCase() : `${info.kind.toLowerCase()}.${info.group}`;
  return items.map(({ metadata }) => `${prefix}/${metadata.name}\n`).join('');
}

/** Adds the kind, which items of a server's list omit. */
function objectsText({ info }: NamedKind, items: readonly KubernetesObject[], output: 'yaml' | 'json'): string {
  const whole = items.map((item) => ({ apiVersion: apiVersionOf(info), kind: info.kind, ...item }));
  const list = { apiVersion: 'v1', items: whole, kind: 'List', metadata: { resourceVersion: '' } };
  return output === 'json' ? `${JSON.stringify(list, undefined, 2)}\n` : stringifyYaml(list);
}
