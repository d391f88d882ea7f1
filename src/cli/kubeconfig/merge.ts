/**
 * Adds a cluster's context to a kubeconfig that other programs write too, and removes it. Everything else in the file
 * is kept, comments included. Keelson's entries are marked by an extension of their context, which names the data
 * directory: entries of others are never replaced. Pure.
 */
import { Document, isMap, isSeq, parseDocument, type YAMLMap, type YAMLSeq } from 'yaml';

/** The cluster's entry in its own kubeconfig. */
export interface KubeconfigEntry {
  /** The name of the context, and of cluster and user unless those have their own. */
  readonly name: string;
  readonly dataDir: string;
  readonly cluster: object;
  readonly user: object;
}

/** An entry with the same name belongs to another cluster. */
export class ForeignEntryError extends Error {
  override readonly name = 'ForeignEntryError';
}

/** The extension that marks Keelson's contexts. */
const EXTENSION = 'keelson.dev';

interface ContextExtension {
  readonly 'data-dir': string;
  /** The current context before this one became it. */
  readonly 'previous-context'?: string | undefined;
}

export interface OwnContext extends ContextExtension {
  readonly name: string;
}

/**
 * Adds or updates the context, and makes a new one current. It replaces contexts with the cluster's former names.
 * Returns the text, which is the same when nothing changes.
 */
export function mergeCluster(text: string, entry: KubeconfigEntry, isGone: (dataDir: string) => boolean): string {
  const document = openDocument(text);
  const { name, dataDir, cluster, user } = entry;
  const mark = markOf(find(document, 'contexts', name));
  const isOurs = mark !== undefined && (mark['data-dir'] === dataDir || isGone(mark['data-dir']));
  if (!isOurs) refuseForeign(document, name, mark);
  const former = ownContexts(text).filter((context) => context['data-dir'] === dataDir && context.name !== name);
  const ownContext = isOurs ? { name, ...mark } : former.at(-1);
  const selected: unknown = document.get('current-context');
  const current = typeof selected === 'string' && selected !== '' ? selected : undefined;
  const previous = ownContext === undefined ? current : previousOf(ownContext, former);
  const extension: ContextExtension = { 'data-dir': dataDir, 'previous-context': previous };
  const before = find(document, 'contexts', ownContext?.name ?? name)?.toJSON() as ContextEntry | undefined;
  const context = {
    cluster: name,
    namespace: before?.context?.namespace,
    user: name,
    extensions: [{ name: EXTENSION, extension }],
  };
  const changes = [
    putEntry(document, 'clusters', { name, cluster }),
    putEntry(document, 'users', { name, user }),
    putEntry(document, 'contexts', { name, context }),
  ];
  for (const each of former) takeContext(document, each.name, name);
  const becomesCurrent =
    ownContext === undefined || current === undefined || former.some((each) => each.name === current);
  if (becomesCurrent) document.set('current-context', name);
  return becomesCurrent || former.length > 0 || changes.includes(true) ? write(document) : text;
}

/** The current context before the cluster's first one, which may have had other names since. */
function previousOf(context: OwnContext, former: readonly OwnContext[]): string | undefined {
  const names = new Map([...former, context].map((each) => [each.name, each['previous-context']]));
  let { 'previous-context': previous } = context;
  while (previous !== undefined && names.has(previous)) {
    const next = names.get(previous);
    names.delete(previous);
    previous = next;
  }
  return previous;
}

/** Removes the cluster of a data directory; the previous context becomes current again. Returns the text. */
export function removeCluster(text: string, dataDir: string): string {
  const document = openDocument(text);
  const ours = ownContexts(text).filter((context) => context['data-dir'] === dataDir);
  if (ours.length === 0) return text;
  for (const { name } of ours) {
    // Read first, since the removal of another context changes it.
    const previous = markOf(find(document, 'contexts', name))?.['previous-context'];
    takeContext(document, name, previous);
    if (document.get('current-context') !== name) continue;
    const back = previous !== undefined && find(document, 'contexts', previous) !== undefined ? previous : '';
    document.set('current-context', back);
  }
  return write(document);
}

/** Removes the context with its cluster and user. */
function takeContext(document: Document, name: string, successor: string | undefined): void {
  for (const list of ['contexts', 'clusters', 'users']) removeEntry(document, list, name);
  passOn(document, name, successor);
}

/** The contexts that Keelson wrote. */
export function ownContexts(text: string): readonly OwnContext[] {
  const list: unknown = openDocument(text).get('contexts');
  if (!isSeq(list)) return [];
  return list.items.flatMap((item) => {
    const mark = isMap(item) ? markOf(item) : undefined;
    const name: unknown = isMap(item) ? item.get('name') : undefined;
    return mark === undefined || typeof name !== 'string' ? [] : [{ name, ...mark }];
  });
}

interface NamedEntry {
  readonly name: string;
  readonly [part: string]: unknown;
}

interface ContextEntry {
  readonly context?: { readonly namespace?: unknown; readonly extensions?: unknown };
}

function refuseForeign(document: Document, name: string, mark: ContextExtension | undefined): void {
  if (mark !== undefined)
    throw new ForeignEntryError(
      `its context ${name} is of the cluster in ${mark['data-dir']}: give one another --name`,
    );
  for (const [list, what] of [
    ['contexts', 'context'],
    ['clusters', 'cluster'],
    ['users', 'user'],
  ] as const)
    if (find(document, list, name) !== undefined)
      throw new ForeignEntryError(
        `it has a ${what} ${name} that Keelson did not write: give this cluster another --name`,
      );
}

function openDocument(text: string): Document {
  const document = parseDocument(text);
  const [problem] = document.errors;
  if (problem !== undefined) throw new Error(`it is no YAML: ${problem.message.split('\n')[0]}`);
  if (document.contents === null) return new Document({ apiVersion: 'v1', kind: 'Config' });
  if (!isMap(document.contents)) throw new Error('it is no kubeconfig');
  return document as Document;
}

function write(document: Document): string {
  return document.toString({ lineWidth: 0, indentSeq: false });
}

function find(document: Document, list: string, name: string): YAMLMap | undefined {
  const items: unknown = document.get(list);
  if (!isSeq(items)) return undefined;
  return items.items.find((item): item is YAMLMap => isMap(item) && item.get('name') === name);
}

function markOf(context: YAMLMap | undefined): ContextExtension | undefined {
  const extensions = (context?.toJSON() as ContextEntry | undefined)?.context?.extensions;
  if (!Array.isArray(extensions)) return undefined;
  const own = (extensions as { name?: unknown; extension?: Partial<ContextExtension> }[]).find(
    (each) => each?.name === EXTENSION,
  );
  return typeof own?.extension?.['data-dir'] === 'string' ? (own.extension as ContextExtension) : undefined;
}

/** Whether anything changed. */
function putEntry(document: Document, list: string, entry: NamedEntry): boolean {
  const before = find(document, list, entry.name);
  if (before !== undefined && JSON.stringify(before.toJSON()) === JSON.stringify(entry)) return false;
  const node = document.createNode(entry);
  const items: unknown = document.get(list);
  if (!isSeq(items)) document.set(list, document.createNode([entry]));
  else {
    items.flow = false;
    const index = before === undefined ? -1 : items.items.indexOf(before);
    if (index < 0) items.add(node);
    else items.set(index, node);
  }
  return true;
}

/** Contexts whose previous context is removed get the one before it. */
function passOn(document: Document, gone: string, previous: string | undefined): void {
  for (const other of ownContexts(document.toString())) {
    if (other['previous-context'] !== gone) continue;
    const context = find(document, 'contexts', other.name);
    const extensions: unknown = context?.getIn(['context', 'extensions']);
    if (!isSeq(extensions)) continue;
    const own = extensions.items.find((item) => isMap(item) && item.get('name') === EXTENSION) as YAMLMap;
    if (previous === undefined) own.deleteIn(['extension', 'previous-context']);
    else own.setIn(['extension', 'previous-context'], previous);
  }
}

function removeEntry(document: Document, list: string, name: string): void {
  const items = document.get(list) as YAMLSeq | undefined;
  const entry = find(document, list, name);
  if (entry !== undefined && items !== undefined) items.delete(items.items.indexOf(entry));
}
