/** Explains the state of the service behind a webhook or an aggregated API. */
import { Services } from '../../api/gen/resources.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause } from '../explanation.ts';
import { inNamespace, nameOf } from '../object-name.ts';

export interface ServiceName {
  readonly namespace?: string;
  readonly name?: string;
}

/** Empty when the backend is no service, or is healthy. */
export async function backendCauses(service: ServiceName | undefined, evidence: Evidence): Promise<readonly Cause[]> {
  const { namespace, name } = service ?? {};
  if (namespace === undefined || name === undefined) return [];
  const { object, missing } = await evidence.get(Services, { namespace, name });
  if (object !== undefined) return evidence.causesOf(Services, object);
  if (!missing) return [];
  const named = nameOf(Services, { namespace, name });
  return [
    cause({
      code: 'ServiceMissing',
      object: named,
      message: `service ${name}, behind which its server is to be, does not exist`,
      cure: {
        text: 'install the server, or delete what points to it',
        command: `kubectl get services${inNamespace(named)}`,
      },
    }),
  ];
}
