/** Two states of an object compared: a unified diff, and the last author of each changed field. */
import { stringifyYaml } from '../../api/codec/yaml-writer.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { RevisionEntry } from '../../apiserver/history/revision-entry.ts';
import { UserError } from '../usage-error.ts';
import { getObjectAt, getHistory, momentParam } from './get-history.ts';
import type { NamedObject } from './connect.ts';
import { isOfStatus, isStatusAlone } from './history-text.ts';
import { unifiedDiff } from './unified-diff.ts';

/** The states to compare; absent: the last change of more than the status, and now. */
export interface Comparison {
  readonly from?: string;
  readonly to?: string;
  /** Compares the status as well. */
  readonly all?: true;
}

const MAX_ENTRIES = 5000;

/** The text; 'no difference' where there is none. Rejects with `UserError`. */
export async function compareText(object: NamedObject, { from, to, all }: Comparison): Promise<string> {
  const { revisions } = await getHistory(object, { limit: MAX_ENTRIES });
  const after = await stateAt(object, to ?? newest(revisions));
  const before = await stateAt(object, from ?? beforeLastChange(revisions, Number(revisionOf(after))));
  const diff = all === true ? objectDiff(before, after) : objectDiff(withoutStatus(before), withoutStatus(after));
  if (diff === '')
    return all === true ? 'no difference\n' : 'no difference but perhaps of the status: --all shows it\n';
  const isWanted = (path: string): boolean => all === true || !isOfStatus(path);
  return diff + changersText(revisions, [Number(revisionOf(before)), Number(revisionOf(after))], isWanted);
}

async function stateAt(object: NamedObject, moment: string): Promise<KubernetesObject> {
  momentParam(moment, object.nowMs);
  return (await getObjectAt(object, moment)).object;
}

function revisionOf({ metadata }: KubernetesObject): string {
  return metadata.resourceVersion ?? '0';
}

/** The newest revision at which the object is there. */
function newest(revisions: readonly RevisionEntry[]): string {
  const entry = revisions.find(({ change }) => change !== 'deleted');
  if (entry === undefined) throw new UserError('no revision of it is kept');
  return entry.revision;
}

function beforeLastChange(revisions: readonly RevisionEntry[], to: number): string {
  const older = revisions.filter(({ revision, change }) => Number(revision) <= to && change !== 'deleted');
  const last = older.findIndex((entry) => entry.change === 'changed' && !isStatusAlone(entry) && entry.fieldCount > 0);
  const before = older[last < 0 ? 1 : last + 1];
  if (before === undefined) throw new UserError('no earlier revision of it is kept: there is nothing to compare with');
  return before.revision;
}

/** A unified diff of two objects without the server's book-keeping; `afterName` where the later one has no revision of its own. */
export function objectDiff(before: KubernetesObject, after: KubernetesObject, afterName?: string): string {
  const side = (object: KubernetesObject, name = `revision ${revisionOf(object)}`) => ({
    name,
    text: stringifyYaml(withoutBookkeeping(object)),
  });
  return unifiedDiff(side(before), side(after, afterName));
}

/** The object without what controllers and nodes report. */
export function withoutStatus({
  status: _,
  ...object
}: KubernetesObject & { readonly status?: unknown }): KubernetesObject {
  return object;
}

function withoutBookkeeping(object: KubernetesObject): object {
  const { managedFields: _, resourceVersion: _revision, generation: _generation, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Each field that differs between two revisions, with the manager that changed it last. */
function changersText(
  revisions: readonly RevisionEntry[],
  [from, to]: readonly [number, number],
  isWanted: (path: string) => boolean,
): string {
  const [low, high] = from < to ? [from, to] : [to, from];
  const changers = new Map<string, string>();
  let missing = 0;
  for (const entry of revisions) {
    const revision = Number(entry.revision);
    if (revision <= low || revision > high) continue;
    missing += entry.fieldCount - entry.fields.length;
    for (const { path } of entry.fields)
      if (isWanted(path) && !changers.has(path)) changers.set(path, changerOf(entry));
  }
  if (changers.size === 0) return '';
  const lines = [...changers].map(([path, who]) => `# ${path}: ${who}`);
  if (missing > 0) lines.push(`# and ${missing} further changes of fields`);
  return `#\n# last changed by\n${lines.join('\n')}\n`;
}

function changerOf({ user = 'unknown', manager, verb, subresource, revision, time }: RevisionEntry): string {
  const how = [manager, verb, subresource].filter((part) => part !== undefined).join(' ');
  return `${user}${how === '' ? '' : ` (${how})`}, revision ${revision}${time === undefined ? '' : `, ${time}`}`;
}
