/**
 * The details of a pod: its progress, the kubelet's activity, its containers with their resource use, and the timeline of its
 * start.
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import { type ObjectRef, objectPath } from '../../api/kinds.ts';
import { kindNamed, kinds } from '../../app/cluster-state.ts';
import { objectOf } from '../../app/hrefs.ts';
import { texts } from '../../app/texts.ts';
import { useMayDo } from '../../parts/access.ts';
import { ObjectHeader } from '../../parts/object-header.tsx';
import { ObjectTrouble } from '../../parts/object-trouble.tsx';
import { useObject } from '../../parts/use-object.ts';
import type { ViewProps } from '../contract.ts';
import { Containers } from './containers.tsx';
import { Life } from './life.tsx';
import { Start } from './start.tsx';

export function View({ route }: ViewProps) {
  if (kinds.value.length === 0) return <p class="notice">{texts.shell.loading}</p>;
  const ref = objectOf(route, kindNamed);
  if (ref === undefined) return <p class="notice">{texts.shell.noView}</p>;
  return <PodPage key={objectPath(ref)} of={ref} />;
}

function PodPage({ of: ref }: { readonly of: ObjectRef }) {
  const state = useObject(ref);
  const { object } = state;
  const mayDo = useMayDo(ref);
  return (
    <section class="pod">
      <ObjectHeader of={ref} mayDo={mayDo} title={texts.pod.title} />
      <ObjectTrouble state={state} />
      {object === undefined ? null : (
        <>
          <Life of={ref} pod={object as Pod} />
          <Containers of={ref} pod={object as Pod} mayDo={mayDo} />
          <Start of={ref} uid={object.metadata.uid ?? ''} />
        </>
      )}
    </section>
  );
}
