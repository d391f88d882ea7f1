/** Actions of other views for the objects of a list, as far as the user has the rights. */
import { kindNamed, may } from '../app/cluster-state.ts';
import { momentMs } from '../app/moment.ts';
import { allViews } from '../app/registered-views.ts';
import { type Kind, kindId } from '../api/kinds.ts';
import type { Need, ObjectAction } from '../views/contract.ts';

export function actionsFor(kind: Kind): readonly ObjectAction[] {
  return allViews()
    .flatMap(({ actions = [] }) => actions)
    .filter(({ needs, applies, changes }) => {
      const isOffered = changes !== true || momentMs.value === undefined;
      return isOffered && applies(kind) && needs.every((need) => mayOn(kind, need));
    });
}

function mayOn(kind: Kind, { verb, subresource, resource, group = '' }: Need): boolean {
  const on = resource === undefined ? kind : kindNamed(kindId({ group, resource }));
  return on !== undefined && may(verb, on, subresource);
}
