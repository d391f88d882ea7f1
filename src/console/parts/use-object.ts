/** One object for a component while it is shown: live, or at the selected moment. */
import { useEffect, useState } from 'preact/hooks';
import type { KubernetesObject } from '../../api/object.ts';
import type { ApiError } from '../api/http.ts';
import { type ObjectRef, objectPath } from '../api/kinds.ts';
import { momentMs } from '../app/moment.ts';
import { followObject } from '../api/live-object.ts';

export interface ObjectState {
  /** The last known state, also after the deletion. */
  readonly object?: KubernetesObject;
  readonly gone: boolean;
  readonly error?: ApiError;
}

export function useObject(ref: ObjectRef): ObjectState {
  const [state, setState] = useState<ObjectState>({ gone: false });
  const atMs = momentMs.value;
  useEffect(() => {
    const life = new AbortController();
    setState({ gone: false });
    void followObject(
      { ref, atMs },
      {
        put: (object) => setState({ object, gone: false }),
        gone: () => setState(({ error: _, ...before }) => ({ ...before, gone: true })),
        failed: (error) => setState((before) => ({ ...before, error })),
      },
      life.signal,
    );
    return () => life.abort();
  }, [objectPath(ref), atMs]);
  return state;
}
