/** Tools that read objects: the kinds there are, tables of objects, one object. */
import { z } from 'zod';
import type { Table } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { groupResourceOf } from '../../api/resource-info.ts';
import { discoverResources } from '../../client/discovery.ts';
import { collectionPath } from '../../client/request-path.ts';
import { withoutNoise } from './shown-object.ts';
import { keyOf, kindField, namespaceField, resourceOf, tool } from './tool.ts';

const TABLE_ACCEPT = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
const MAX_ROWS = 500;

export const kindsTool = tool({
  name: 'kinds',
  title: 'Kinds of objects',
  description:
    'Lists the kinds of objects that the cluster serves, custom ones included, and whether they have namespaces.',
  input: z.object({}),
  async run(_, { client, signal }) {
    const { resources, stale } = await discoverResources(client, signal);
    const lines = resources.map(
      (info) => `${groupResourceOf(info)} (${info.kind}${info.namespaced ? '' : ', no namespace'})`,
    );
    return [...lines.toSorted(), ...stale.map((version) => `${version}: its server does not answer`)].join('\n');
  },
});

export const listTool = tool({
  name: 'list',
  title: 'List objects',
  description:
    'Lists objects of a kind as the table kubectl get prints. Without allNamespaces, those of one namespace. At most 500 rows: narrow the question by labels or fields.',
  input: z.object({
    kind: kindField,
    namespace: namespaceField,
    allNamespaces: z.boolean().optional().describe('objects of all namespaces'),
    labelSelector: z.string().optional().describe('app=web,tier!=db'),
    fieldSelector: z.string().optional().describe('status.phase=Pending'),
  }),
  async run({ kind, namespace, allNamespaces, labelSelector, fieldSelector }, context) {
    const info = await resourceOf(kind, context);
    const inAll = allNamespaces === true || !info.namespaced;
    const query = new URLSearchParams({ limit: String(MAX_ROWS) });
    if (labelSelector !== undefined) query.set('labelSelector', labelSelector);
    if (fieldSelector !== undefined) query.set('fieldSelector', fieldSelector);
    const path = collectionPath(info, inAll ? undefined : (namespace ?? context.namespace));
    const { body } = await context.client.raw({
      path: `${path}?${query}`,
      headers: { accept: TABLE_ACCEPT },
      signal: context.signal,
    });
    return tableText(JSON.parse(Buffer.from(body).toString('utf8')) as Table, info.namespaced && inAll);
  },
});

/** Columns that kubectl shows without `-o wide`, between tabs. */
function tableText(table: Table, withNamespace: boolean): string {
  const shown = (table.columnDefinitions ?? []).flatMap(({ name, priority = 0 }, index) =>
    priority === 0 ? [{ name, index }] : [],
  );
  const rows = (table.rows ?? []).map(({ cells, object }) => {
    const { metadata } = object as Partial<KubernetesObject>;
    const namespace = withNamespace ? [metadata?.namespace] : [];
    return [...namespace, ...shown.map(({ index }) => String(cells[index] ?? ''))].join('\t');
  });
  if (rows.length === 0) return 'no objects';
  const head = [...(withNamespace ? ['NAMESPACE'] : []), ...shown.map(({ name }) => name.toUpperCase())].join('\t');
  const { continue: more = '', remainingItemCount } = table.metadata ?? {};
  return [head, ...rows, ...(more === '' ? [] : [`and ${remainingItemCount ?? 'many'} more`])].join('\n');
}

export const getTool = tool({
  name: 'get',
  title: 'Read one object',
  description:
    'Reads one object whole: metadata, spec, status. Values of secrets are left out unless the server was started to show them.',
  input: z.object({ kind: kindField, name: z.string().min(1), namespace: namespaceField }),
  async run({ kind, name, namespace }, context) {
    const info = await resourceOf(kind, context);
    const key = keyOf(info, { name, namespace }, context);
    const object = await context.client.resource(info).get(key, { signal: context.signal });
    return withoutNoise(info, object, context.showsSecrets);
  },
});
