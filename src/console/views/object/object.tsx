/** The page of one object of any kind: explanation, fields, history, and actions. */
import type { KubernetesObject } from '../../../api/object.ts';
import { kindId, type ObjectRef, objectPath } from '../../api/kinds.ts';
import { kindNamed, kinds } from '../../app/cluster-state.ts';
import { momentMs } from '../../app/moment.ts';
import { objectHref, objectOf } from '../../app/hrefs.ts';
import { texts } from '../../app/texts.ts';
import type { ViewProps } from '../contract.ts';
import { useMayDo } from '../../parts/access.ts';
import { ActionBar } from './action-bar.tsx';
import { Conditions, Facts } from './facts.tsx';
import { History } from './history.tsx';
import { NodeFaults } from './node-faults.tsx';
import { Events, Related } from './related.tsx';
import { RelatedGraph } from './related-graph.tsx';
import { ObjectHeader } from '../../parts/object-header.tsx';
import { ObjectTrouble } from '../../parts/object-trouble.tsx';
import { useObject } from '../../parts/use-object.ts';
import { Why } from './why.tsx';
import { Yaml } from './yaml.tsx';

const TABS = ['summary', 'yaml', 'history'] as const;
type Tab = (typeof TABS)[number];

export function View({ route }: ViewProps) {
  if (kinds.value.length === 0) return <p class="notice">{texts.shell.loading}</p>;
  const ref = objectOf(route, kindNamed);
  if (ref === undefined) return <p class="notice">{texts.shell.noView}</p>;
  const tab = TABS.find((name) => name === route.params.get('tab')) ?? 'summary';
  return <Whole key={objectPath(ref)} of={ref} tab={tab} editing={route.params.get('edit') === '1'} />;
}

interface WholeProps {
  readonly of: ObjectRef;
  readonly tab: Tab;
  readonly editing: boolean;
}

function Whole({ of: ref, tab, editing }: WholeProps) {
  const state = useObject(ref);
  const { object, gone } = state;
  const mayDo = useMayDo(ref);
  const isPast = momentMs.value !== undefined;
  const { resourceVersion: version = '' } = object?.metadata ?? {};
  return (
    <section class="object">
      <ObjectHeader of={ref} mayDo={mayDo}>
        {object === undefined || gone || isPast ? null : <ActionBar of={ref} object={object} mayDo={mayDo} />}
      </ObjectHeader>
      <nav class="object-tabs" aria-label={texts.object.title}>
        {TABS.map((name) => (
          <a
            key={name}
            href={objectHref('object', ref, name === 'summary' ? {} : { tab: name })}
            aria-current={name === tab ? 'page' : undefined}
          >
            {texts.object.tabs[name]}
          </a>
        ))}
      </nav>
      <ObjectTrouble state={state} />
      {tab === 'history' ? <History of={ref} version={version} isPast={isPast} /> : null}
      {object === undefined || tab !== 'yaml' || gone ? null : (
        <Yaml
          of={ref}
          version={version}
          isPast={isPast}
          mayEdit={!isPast && mayDo({ verb: 'patch' })}
          editing={editing}
        />
      )}
      {object === undefined || tab !== 'summary' ? null : <Summary of={ref} object={object} gone={gone} />}
    </section>
  );
}

interface SummaryProps {
  readonly of: ObjectRef;
  readonly object: KubernetesObject;
  readonly gone: boolean;
}

function Summary({ of: ref, object, gone }: SummaryProps) {
  return (
    <>
      {gone ? null : momentMs.value === undefined ? (
        <Why of={ref} />
      ) : (
        <p class="object-why dim">{`${texts.object.why}: ${texts.time.partOnly}`}</p>
      )}
      {kindId(ref.kind) === 'nodes' && momentMs.value === undefined ? <NodeFaults node={ref.name} /> : null}
      <Facts of={ref} object={object} />
      <Conditions object={object} />
      <RelatedGraph of={ref} object={object} />
      <Related of={ref} object={object} />
      <Events of={ref} />
    </>
  );
}
