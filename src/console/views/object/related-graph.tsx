/** The objects related to one as a diagram that is updated live. */
import type { KubernetesObject } from '../../../api/object.ts';
import type { ObjectRef } from '../../api/kinds.ts';
import { texts } from '../../app/texts.ts';
import { FlowGraph } from '../../parts/flow/flow-graph.tsx';
import { relatedFlow } from './related-flow.ts';
import { useRelated } from './use-related.ts';

export function RelatedGraph({ of: ref, object }: { readonly of: ObjectRef; readonly object: KubernetesObject }) {
  const flow = relatedFlow(useRelated(ref, object));
  if (flow.columns.length < 2) return null;
  return (
    <section class="object-graph">
      <h2>{texts.object.graph.title}</h2>
      <FlowGraph flow={flow} label={texts.object.graph.title} />
    </section>
  );
}
