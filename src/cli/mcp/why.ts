/** Tools that explain: one object, and what is in trouble. */
import { z } from 'zod';
import { requestTroubles, requestExplanation } from '../../why/request-explanation.ts';
import { explanationText } from '../../why/text.ts';
import { keyOf, kindField, namespaceField, resourceOf, tool } from './tool.ts';

export const whyTool = tool({
  name: 'why',
  title: 'Why an object is as it is',
  description:
    'Explains any object: the verdict, the causes down to the first one with the object at fault, what was seen, and what would cure it. "not known" means that nothing that was looked at says why. Ask this before reading objects one by one.',
  input: z.object({ kind: kindField, name: z.string().min(1), namespace: namespaceField }),
  async run({ kind, name, namespace }, context) {
    const { client, signal } = context;
    const info = await resourceOf(kind, context);
    const key = keyOf(info, { name, namespace }, context);
    return explanationText(await requestExplanation(info, key, { client, nowMs: context.nowMs(), signal }));
  },
});

export const troubleTool = tool({
  name: 'trouble',
  title: 'What is in trouble',
  description:
    'Lists what in the whole cluster, or in one namespace, is not as it should be (nodes, claims, workloads, pods), each once with its causes.',
  input: z.object({
    namespace: z.string().optional().describe('looks into this one alone; the whole cluster when absent'),
    shown: z.number().int().min(1).max(100).optional().describe('objects in the answer; 20 when absent'),
  }),
  async run({ namespace, shown }, { client, nowMs, signal }) {
    const options = { client, nowMs: nowMs(), signal, namespace };
    const { found, notShown, notReadable } = await requestTroubles(options, shown);
    const texts = found.map((each) => {
      const { more, ...diagnosis } = each;
      const text = explanationText({
        ...diagnosis,
        apiVersion: 'keelson/v1',
        kind: 'Explanation',
        lookedAt: [],
        notReadable: [],
      });
      return more === 0 ? text : `${text}  and ${more} more objects of the same owner\n`;
    });
    if (notShown > 0) texts.push(`and ${notShown} more objects\n`);
    for (const what of notReadable) texts.push(`not readable: ${what}\n`);
    return texts.length === 0 ? 'nothing is in trouble' : texts.join('\n');
  },
});
