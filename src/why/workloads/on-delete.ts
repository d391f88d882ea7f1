/** Explains rollouts that replace a pod only when a user deletes it (strategy OnDelete). */
import { cause, type Cause, type ObjectName } from '../explanation.ts';
import { inNamespace } from '../object-name.ts';

export function onDeleteCause(object: ObjectName): Cause {
  return cause({
    code: 'UpdatesOnDelete',
    object,
    message: 'its update strategy is OnDelete: pods of the older template stay until they are deleted',
    cure: { text: 'delete them one after the other', command: `kubectl get pods --show-labels${inNamespace(object)}` },
  });
}
