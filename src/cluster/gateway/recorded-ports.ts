/** The ports of routes that a Node records as open. The record outlives restarts of Keelson and of the machine. */
import { Nodes } from '../../api/gen/resources.ts';
import type { ObjectStore } from '../../apiserver/registry/object-store.ts';
import { GATEWAY_PORTS_ANNOTATION } from '../../component-helpers/gateway-class.ts';

/** The value of the annotation; '' when there is none. */
export function recordedPorts(objects: Pick<ObjectStore, 'get'>, nodeName: string): string {
  return objects.get(Nodes, '', nodeName)?.metadata.annotations?.[GATEWAY_PORTS_ANNOTATION] ?? '';
}
