/** One change of an object in a line: the new values, and the reasons of its conditions. */
import type { Event } from '../../api/gen/core-v1.ts';
import type { ObjectMeta } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { RevisionCell } from '../../apiserver/watch-cache/revision-cell.ts';
import type { StoreChange } from '../event-log.ts';
import { fieldChanges, fieldChangeText, type FieldChange } from '../../apiserver/history/field-changes.ts';

const SHOWN_FIELDS = 3;
const MAX_MESSAGE_LENGTH = 160;
/** Times and identities that change together with a value that is shown, and fields that the text about conditions includes. */
const UNSHOWN =
  /\.(last\w*Time|startTime|startedAt|finishedAt|observedGeneration|containerID|sandboxID|imageID|resourceVersion|conditions(\[.*)?)$|^metadata\.(creationTimestamp|uid|annotations\.?\["?(deployment\.kubernetes\.io\/revision|kubectl\.kubernetes\.io\/last-applied-configuration)"?\])$/;
const CONDITION = /^status\.conditions\b/;

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

interface States {
  readonly before: KubernetesObject | undefined;
  readonly after: KubernetesObject | undefined;
}

/** Undefined for a change that is not worth a line: a heartbeat, book-keeping. */
export function changeText(key: string, { before, after }: States): string | undefined {
  const name = nameOf(after ?? before, key);
  if (after === undefined) return `deleted ${name}`;
  if (before === undefined) return `created ${name}${ownerText(after.metadata)}`;
  const parts = [...deletionText(before, after), ...conditionTexts(before, after), ...fieldTexts(before, after)];
  return parts.length === 0 ? undefined : `${name}: ${parts.join('; ')}`;
}

/** `changeText` that always returns a text. */
export function storeChangeText({ key, revision, before, after }: StoreChange): string {
  const [old, now] = [before, after].map((value) =>
    value === undefined ? undefined : new RevisionCell(key, revision, value).object(),
  );
  return changeText(key, { before: old, after: now }) ?? `${nameOf(now, key)}: times and book-keeping alone`;
}

/** The text of an event, and the component that recorded it. */
export function eventText({ involvedObject, reason, message, count = 1, source, reportingComponent }: Event): {
  readonly who: string;
  readonly text: string;
} {
  const { kind = '', namespace, name = '' } = involvedObject;
  const component = source?.component ?? reportingComponent ?? '';
  const who = component === 'kubelet' && source?.host !== undefined ? `kubelet/${source.host}` : component;
  const times = count > 1 ? ` (x${count})` : '';
  return {
    who: who === 'default-scheduler' ? 'scheduler' : who,
    text: `event ${reason}${times} ${referenceOf(kind, namespace, name)}: ${shortened(message ?? '')}`,
  };
}

/** `pod/web-1`, `deployment/shop/web`; for an unknown state, the name from its key. */
function nameOf(object: KubernetesObject | undefined, key: string): string {
  if (object?.kind === undefined) return key.replace(/^\/registry\//, '');
  return referenceOf(object.kind, object.metadata.namespace, object.metadata.name ?? '');
}

function referenceOf(kind: string, namespace: string | undefined, name: string): string {
  const place = namespace === undefined || namespace === '' || namespace === 'default' ? '' : `${namespace}/`;
  return `${kind.toLowerCase()}/${place}${name}`;
}

function ownerText({ ownerReferences }: ObjectMeta): string {
  const owner = ownerReferences?.find(({ controller }) => controller === true);
  return owner === undefined ? '' : ` for ${owner.kind.toLowerCase()}/${owner.name}`;
}

function deletionText({ metadata: old }: KubernetesObject, { metadata }: KubernetesObject): string[] {
  if (metadata.deletionTimestamp === undefined || old.deletionTimestamp !== undefined) return [];
  const { deletionGracePeriodSeconds: grace, finalizers = [] } = metadata;
  const waits = finalizers.length > 0 ? `, waits for ${finalizers.join(', ')}` : '';
  return [`deletion begins${grace === undefined ? '' : `, grace ${grace} s`}${waits}`];
}

function conditionTexts(before: KubernetesObject, after: KubernetesObject): string[] {
  const old = new Map(conditionsOf(before).map((condition) => [condition.type, condition.status]));
  return conditionsOf(after)
    .filter(({ type, status }) => old.get(type) !== status)
    .map(({ type, status, reason = '', message = '' }) => {
      const was = old.get(type);
      const why = [reason, shortened(message)].filter((text) => text !== '').join(': ');
      return `${type} ${was === undefined ? '' : `${was} → `}${status}${why === '' ? '' : ` (${why})`}`;
    });
}

function conditionsOf(object: KubernetesObject): readonly Condition[] {
  const { status } = object as { status?: { conditions?: readonly Condition[] } };
  return status?.conditions ?? [];
}

function fieldTexts(before: KubernetesObject, after: KubernetesObject): string[] {
  const { fields } = fieldChanges(before, after, { hidesValues: after.kind === 'Secret' });
  const shown = fields.filter(isShown);
  const more = shown.length - SHOWN_FIELDS;
  return [...shown.slice(0, SHOWN_FIELDS).map(fieldChangeText), ...(more > 0 ? [`and ${more} more`] : [])];
}

function isShown({ path }: FieldChange): boolean {
  return !CONDITION.test(path) && !UNSHOWN.test(path) && !path.startsWith('metadata.deletion');
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > MAX_MESSAGE_LENGTH ? `${line.slice(0, MAX_MESSAGE_LENGTH)}…` : line;
}
