/** The objects related to this one, and the events about it. */
import type { KubernetesObject } from '../../../api/object.ts';
import type { Kind, ObjectRef } from '../../api/kinds.ts';
import { pluralOf } from '../../app/menu-bar.tsx';
import { kindNamed } from '../../app/cluster-state.ts';
import { texts } from '../../app/texts.ts';
import { useMayList } from '../../parts/access.ts';
import { type Belonging, belongingsOf } from '../../parts/belongings.ts';
import { ObjectLink } from './links.tsx';
import { mentionsOf } from './related.ts';
import { SmallTable } from './small-table.tsx';
import { useRows } from './use-rows.ts';

interface RelatedProps {
  readonly of: ObjectRef;
  readonly object: KubernetesObject;
}

export function Related({ of: ref, object }: RelatedProps) {
  const mayList = useMayList(ref.namespace);
  const mentions = mentionsOf(ref, object).flatMap(({ kind: word, namespace, name }) => {
    const kind = kindNamed(word);
    return kind === undefined ? [] : [{ kind, namespace: kind.namespaced ? namespace : '', name }];
  });
  return (
    <>
      {mentions.length === 0 ? null : (
        <section>
          <h2>{texts.object.refersTo}</h2>
          <ul class="object-links">
            {mentions.map((to) => (
              <li key={`${to.kind.resource} ${to.namespace} ${to.name}`}>
                <ObjectLink to={to} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {belongingsOf(ref, object).map((belonging) => {
        const kind = kindNamed(belonging.kind);
        return kind === undefined || !mayList(kind) ? null : (
          <BelongingList key={belonging.kind} belonging={belonging} kind={kind} />
        );
      })}
    </>
  );
}

function BelongingList({ belonging, kind }: { readonly belonging: Belonging; readonly kind: Kind }) {
  const { namespace, labelSelector, fieldSelector } = belonging;
  const live = useRows(kind, { namespace, labelSelector, fieldSelector });
  return (
    <section>
      <h2>{live.isRead || live.count > 0 ? `${pluralOf(kind)} (${live.count})` : pluralOf(kind)}</h2>
      {live.rows.length === 0 ? (
        <p class="dim">{live.isRead ? texts.list.none : texts.shell.loading}</p>
      ) : (
        <SmallTable live={live} kind={kind} label={pluralOf(kind)} />
      )}
    </section>
  );
}

/** The namespace of events about cluster-scoped objects. */
const NAMESPACE_OF_CLUSTER = 'default';

export function Events({ of: { kind, namespace, name } }: { readonly of: ObjectRef }) {
  const where = namespace || NAMESPACE_OF_CLUSTER;
  const events = kindNamed('events');
  const mayList = useMayList(where);
  const fieldSelector = `involvedObject.kind=${kind.kind},involvedObject.name=${name}`;
  const allowed = events !== undefined && mayList(events);
  const live = useRows(allowed ? events : undefined, { namespace: where, fieldSelector }, true);
  if (!allowed) return null;
  return (
    <section>
      <h2>{texts.object.events}</h2>
      {live.rows.length === 0 ? (
        <p class="dim">{live.isRead ? texts.object.noEvents : texts.shell.loading}</p>
      ) : (
        <SmallTable live={live} kind={events} label={texts.object.events} without={['Object']} />
      )}
    </section>
  );
}
