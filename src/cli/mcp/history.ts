/** Tools that tell how an object came to be: its revisions, and the steps of a pod's start. Of Keelson's servers alone. */
import { z } from 'zod';
import { Pods } from '../../api/gen/resources.ts';
import type { PodTrace } from '../../component-helpers/pod-trace/pod-trace.ts';
import { waterfall } from '../../component-helpers/pod-trace/waterfall.ts';
import { objectPath } from '../../client/request-path.ts';
import { getHistory } from '../history/get-history.ts';
import { historyText, isStatusAlone } from '../history/history-text.ts';
import { keyOf, kindField, namespaceField, resourceOf, tool } from './tool.ts';

const DEFAULT_REVISIONS = 50;

export const historyTool = tool({
  name: 'history',
  title: 'History of an object',
  description:
    'Tells the revisions of an object, of a deleted one too: when, by which user and manager, and which fields changed. Changes of the status alone are left out unless asked for. Values of secrets are never in it.',
  input: z.object({
    kind: kindField,
    name: z.string().min(1),
    namespace: namespaceField,
    statusToo: z.boolean().optional().describe('changes of the status alone as well'),
    revisions: z.number().int().min(1).max(500).optional().describe(`${DEFAULT_REVISIONS} when absent`),
  }),
  async run({ kind, name, namespace, statusToo, revisions = DEFAULT_REVISIONS }, context) {
    const { client, nowMs } = context;
    const info = await resourceOf(kind, context);
    const key = keyOf(info, { name, namespace }, context);
    const object = { client, info, resources: [], key, path: objectPath(info, key), nowMs: nowMs() };
    const isWanted =
      statusToo === true ? () => true : (entry: Parameters<typeof isStatusAlone>[0]) => !isStatusAlone(entry);
    return historyText(await getHistory(object, { limit: revisions, isWanted }));
  },
});

export const traceTool = tool({
  name: 'trace',
  title: "Steps of a pod's start",
  description: "Shows where the time of a pod's start went, step by step, from the request until it was ready.",
  input: z.object({ pod: z.string().min(1), namespace: namespaceField }),
  async run({ pod, namespace }, context) {
    const path = objectPath(Pods, keyOf(Pods, { name: pod, namespace }, context));
    const { body } = await context.client.raw({ path: `/keelson/v1/trace${path}`, signal: context.signal });
    return waterfall(JSON.parse(Buffer.from(body).toString('utf8')) as PodTrace);
  },
});
