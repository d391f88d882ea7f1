/** The fields that every object has: age, namespace, owners, labels, annotations, and its conditions. */
import type { Condition } from '../../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import type { ObjectRef } from '../../api/kinds.ts';
import { kindNamed } from '../../app/cluster-state.ts';
import { listHref } from '../../app/hrefs.ts';
import { texts } from '../../app/texts.ts';
import { Age } from '../../parts/age.tsx';
import { Badge } from '../../parts/badge.tsx';
import { Fact } from '../../parts/fact.tsx';
import type { Tone } from '../../parts/tone.ts';
import { ObjectLink, OwnerLink } from './links.tsx';

interface FactsProps {
  readonly of: ObjectRef;
  readonly object: KubernetesObject;
}

export function Facts({ of: ref, object: { metadata } }: FactsProps) {
  const { object: words } = texts;
  const namespaces = kindNamed('namespaces');
  const { creationTimestamp, ownerReferences = [], labels = {}, annotations = {}, finalizers = [] } = metadata;
  const shown = Object.entries(annotations).filter(
    ([key]) => key !== 'kubectl.kubernetes.io/last-applied-configuration',
  );
  return (
    <dl class="object-facts">
      {ref.namespace === '' || namespaces === undefined ? null : (
        <Fact name={words.namespace}>
          <ObjectLink short to={{ kind: namespaces, namespace: '', name: ref.namespace }} />
        </Fact>
      )}
      {creationTimestamp == null ? null : (
        <Fact name={words.age}>
          <Age sinceMs={Date.parse(creationTimestamp)} />
        </Fact>
      )}
      {ownerReferences.length === 0 ? null : (
        <Fact name={words.owners}>
          {ownerReferences.map((owner) => (
            <OwnerLink key={owner.uid} owner={owner} namespace={ref.namespace} />
          ))}
        </Fact>
      )}
      {Object.keys(labels).length === 0 ? null : (
        <Fact name={words.labels}>
          {Object.entries(labels).map(([key, value]) => (
            <a
              key={key}
              class="object-label mono"
              href={listHref(ref.kind, { q: `-l ${key}=${value}`, ns: ref.namespace })}
            >
              {`${key}=${value}`}
            </a>
          ))}
        </Fact>
      )}
      {shown.length === 0 ? null : (
        <Fact name={words.annotations}>
          {shown.map(([key, value]) => (
            <span key={key} class="mono object-annotation">{`${key}=${value}`}</span>
          ))}
        </Fact>
      )}
      {finalizers.length === 0 ? null : <Fact name={words.finalizers}>{finalizers.join(', ')}</Fact>}
    </dl>
  );
}

export function Conditions({ object }: { readonly object: KubernetesObject }) {
  const { status } = object as { readonly status?: { readonly conditions?: unknown } };
  const conditions = Array.isArray(status?.conditions) ? (status.conditions as readonly Partial<Condition>[]) : [];
  if (conditions.length === 0) return null;
  return (
    <section>
      <h2>{texts.object.conditions}</h2>
      <ul class="object-conditions">
        {conditions.map(({ type = '', status: word = '', reason = '', message = '', lastTransitionTime }) => (
          <li key={type}>
            <Badge word={`${type}: ${word}`} tone={toneOfCondition(type, word)} />
            {lastTransitionTime === undefined ? null : <Age sinceMs={Date.parse(lastTransitionTime)} />}
            <span>{[reason, message].filter((text) => text !== '').join(': ')}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Conditions whose `True` is a bad state. */
const NEGATIVE = /Pressure$|Fail|Unavailable$|Stalled|Degraded|Dangling|DisruptionTarget|Deletion.*Fail/;

function toneOfCondition(type: string, status: string): Tone {
  if (status === 'Unknown') return 'busy';
  if (NEGATIVE.test(type)) return status === 'True' ? 'bad' : 'done';
  return status === 'True' ? 'good' : 'busy';
}
