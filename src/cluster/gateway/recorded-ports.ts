/** The ports of routes that a Node records as open, which a restart of Keelson and of the machine leaves. */
import { Nodes } from '../../api/gen/resources.ts';
import type { ObjectStore } from '../../apiserver/registry/object-store.ts';
import { GATEWAY_PORTS_ANNOTATION } from '../../component-helpers/gateway-class.ts';

/** As the annotation has them; '' for none. */
export function recordedPorts(objects: Pick<ObjectStore, 'get'>, nodeName: string): string {
  return objects.get(Nodes, '', nodeName)?.metadata.annotations?.[GATEWAY_PORTS_ANNOTATION] ?? '';
}
