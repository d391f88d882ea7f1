/** Tools that read what happened: events and logs. */
import { z } from 'zod';
import { Events, Pods } from '../../api/gen/resources.ts';
import type { Event } from '../../api/gen/core-v1.ts';
import { fieldSelectorOf } from '../../api/field-selector.ts';
import { objectPath } from '../../client/request-path.ts';
import { timeOfEvent } from '../../why/evidence.ts';
import { keyOf, kindField, namespaceField, resourceOf, tool } from './tool.ts';

const MAX_EVENTS = 200;
const MAX_LINES = 2000;
const DEFAULT_LINES = 200;
/** More than what an answer shows: a line may have any length. */
const MAX_LOG_BYTES = 512 * 1024;

export const eventsTool = tool({
  name: 'events',
  title: 'Events',
  description:
    'Lists events, the newest last: of one object when kind and name are given, else of a namespace or of all.',
  input: z.object({
    kind: kindField.optional(),
    name: z.string().optional(),
    namespace: namespaceField,
    allNamespaces: z.boolean().optional(),
    warningsOnly: z.boolean().optional(),
  }),
  async run({ kind, name, namespace, allNamespaces, warningsOnly }, context) {
    const info = kind === undefined ? undefined : await resourceOf(kind, context);
    const fields: Record<string, string> = {};
    if (info !== undefined) fields['involvedObject.kind'] = info.kind;
    if (name !== undefined) fields['involvedObject.name'] = name;
    if (warningsOnly === true) fields['type'] = 'Warning';
    // Events of cluster-scoped objects are in the namespace default.
    const place = info?.namespaced === false ? 'default' : (namespace ?? context.namespace);
    const { items } = await context.client.resource(Events).list({
      namespace: allNamespaces === true ? '' : place,
      fieldSelector: fieldSelectorOf(fields),
      signal: context.signal,
    });
    const newest = items.toSorted((a, b) => timeOfEvent(a) - timeOfEvent(b)).slice(-MAX_EVENTS);
    return newest.length === 0 ? 'no events' : newest.map(eventLine).join('\n');
  },
});

function eventLine(event: Event): string {
  const { involvedObject: involved, type = '', reason = '', message = '', count, series } = event;
  const times = series?.count ?? count ?? 1;
  const place = involved.namespace === undefined ? '' : `${involved.namespace}/`;
  const object = `${(involved.kind ?? '').toLowerCase()}/${place}${involved.name ?? ''}`;
  return `${new Date(timeOfEvent(event)).toISOString()} ${type} ${reason} ${object} (x${times}): ${message.trim()}`;
}

export const logsTool = tool({
  name: 'logs',
  title: 'Logs of a container',
  description: `Reads the last lines a container wrote (${DEFAULT_LINES} unless asked otherwise, ${MAX_LINES} at most), or those of its previous run.`,
  input: z.object({
    pod: z.string().min(1),
    namespace: namespaceField,
    container: z.string().optional().describe('needed when the pod has several'),
    previous: z.boolean().optional().describe('of the run before this one'),
    lines: z.number().int().min(1).max(MAX_LINES).optional(),
    sinceSeconds: z.number().int().min(1).optional(),
  }),
  async run({ pod, namespace, container, previous, lines, sinceSeconds }, context) {
    const query = new URLSearchParams({
      tailLines: String(lines ?? DEFAULT_LINES),
      limitBytes: String(MAX_LOG_BYTES),
      timestamps: 'true',
    });
    if (container !== undefined) query.set('container', container);
    if (previous === true) query.set('previous', 'true');
    if (sinceSeconds !== undefined) query.set('sinceSeconds', String(sinceSeconds));
    const path = objectPath(Pods, keyOf(Pods, { name: pod, namespace }, context), 'log');
    const { body } = await context.client.raw({ path: `${path}?${query}`, signal: context.signal });
    const text = Buffer.from(body).toString('utf8');
    return text === '' ? 'it has written nothing' : text;
  },
});
