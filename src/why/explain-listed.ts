/** Explains the objects of a list that are in trouble. */
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import type { ListOptions } from '../client/client.ts';
import { boundedCauses } from './bounded-causes.ts';
import { explainObject, type ExplainOptions } from './explain.ts';
import type { Explanation, ExplanationList } from './explanation.ts';
import { pagesOf } from './pages.ts';
import { isOutOfTime } from './time-limit.ts';

export type ListedOptions = ExplainOptions & Pick<ListOptions, 'namespace' | 'labelSelector' | 'fieldSelector'>;

/** The limit of objects that are explained, because each explanation reads more objects. */
const MAX_EXPLAINED = 500;
const MAX_ITEMS = 100;
const MAX_CAUSES = 20;

/** Rejects when the objects cannot be listed, or the signal aborts. At its time limit it returns what it has found. */
export async function explainListed(
  info: ResourceInfo<KubernetesObject>,
  { namespace, labelSelector, fieldSelector, ...options }: ListedOptions,
): Promise<ExplanationList> {
  const items: Explanation[] = [];
  let seen = 0;
  let explained = 0;
  let rest = 0;
  const { client, signal } = options;
  const list = { client, signal, namespace, labelSelector, fieldSelector, onRest: (count: number) => (rest = count) };
  try {
    for await (const page of pagesOf(info, list)) {
      seen += page.length;
      for (const object of page) {
        if (explained >= MAX_EXPLAINED || items.length >= MAX_ITEMS) break;
        const explanation = await explainObject(info, object, options);
        explained++;
        if (explanation.state === 'Trouble' || explanation.state === 'Unknown')
          items.push({ ...explanation, causes: boundedCauses(explanation.causes, MAX_CAUSES) });
      }
    }
  } catch (error) {
    if (!isOutOfTime(error)) throw error;
  }
  return { apiVersion: 'keelson/v1', kind: 'ExplanationList', items, notLookedAt: rest + seen - explained };
}
