/** The user's rights on one object, in any namespace. */
import { useEffect, useState } from 'preact/hooks';
import { type Access, accessIn, allows } from '../api/access.ts';
import { ApiError } from '../api/http.ts';
import type { Kind, ObjectRef } from '../api/kinds.ts';
import { momentMs } from '../app/moment.ts';
import { allViews } from '../app/registered-views.ts';
import type { Need, ObjectAction } from '../views/contract.ts';

export type { Need };

export type MayDo = (need: Need) => boolean;

/** False for every action until the rules are known. */
export function useMayDo({ kind, namespace, name }: ObjectRef): MayDo {
  const access = useAccess(namespace);
  return ({ verb, subresource = '', resource = '', group = '' }) => {
    if (access === undefined) return false;
    if (resource === '') return allows(access, { verb, kind, subresource, name });
    return allows(access, { verb, kind: { group, resource }, subresource });
  };
}

/** Whether objects of other kinds can be listed in a namespace. */
export function useMayList(namespace: string): (kind: Kind) => boolean {
  const access = useAccess(namespace);
  return (kind) => access !== undefined && allows(access, { verb: 'list', kind });
}

function useAccess(namespace: string): Access | undefined {
  const [access, setAccess] = useState<Access>();
  useEffect(() => {
    let current = true;
    setAccess(undefined);
    accessIn(namespace).then(
      (known) => current && setAccess(known),
      (error: unknown) => {
        if (!(error instanceof ApiError)) throw error;
      },
    );
    return () => {
      current = false;
    };
  }, [namespace]);
  return access;
}

/** The actions that other views have for the object. */
export function actionsOn({ kind }: ObjectRef, mayDo: MayDo): readonly ObjectAction[] {
  const isPast = momentMs.value !== undefined;
  return allViews()
    .flatMap(({ actions = [] }) => actions)
    .filter(({ needs, applies, changes }) => applies(kind) && needs.every(mayDo) && !(changes === true && isPast));
}
